//! Nodes and their entities on the network: the keys that their messages go to, and the tokens by which others know of
//! them.

use rospin_node::{EndpointKind, FullName, NodeName, Qos, Refused, TypeKind, TypeName};
use xxhash_rust::xxh3::xxh3_128;
use zenoh::Wait;
use zenoh::key_expr::KeyExpr;
use zenoh::liveliness::LivelinessToken;

use crate::attachment::Gid;
use crate::session::Session;
use crate::{profile, tokens};

/// Text in place of the hash of a type that has none. Humble's `rmw_zenoh_cpp` writes it for all types.
const NO_HASH: &str = "TypeHashNotSupported";

/// Converts an error of Zenoh.
pub(crate) fn refused(error: impl std::fmt::Display) -> Refused {
    Refused(error.to_string())
}

/// Node of a session, which is in the graph until this value is dropped.
pub(crate) struct ZenohNode {
    pub(crate) session: Session,
    id: usize,
    /// Its namespace and its name, as tokens have them.
    parts: String,
    _token: LivelinessToken,
}

impl ZenohNode {
    pub(crate) fn new(session: &Session, name: &NodeName) -> Result<Self, Refused> {
        let id = session.next_id();
        let parts = format!("{}/{}", percents(name.namespace()), name.base_name());
        let key = format!("{}/{id}/{id}/NN/%/{parts}", prefix(session));
        let token = session.zenoh().liveliness().declare_token(key).wait().map_err(refused)?;
        Ok(Self { session: session.clone(), id, parts, _token: token })
    }
}

/// Publisher, subscription, server or client as an entry of the graph.
pub(crate) struct Endpoint {
    /// Key of the endpoint's messages or requests.
    pub(crate) key: KeyExpr<'static>,
    pub(crate) gid: Gid,
    /// The ends that it can be matched with, as their [tokens](tokens::ends) have them.
    pub(crate) others: String,
    token: KeyExpr<'static>,
}

impl Endpoint {
    pub(crate) fn new(
        node: &ZenohNode,
        kind: EndpointKind,
        name: &FullName,
        type_name: &TypeName,
        qos: &Qos,
    ) -> Result<Self, Refused> {
        let session = &node.session;
        let dds_type = dds_type(type_name);
        let hash = hash(type_name)?;
        let topic = percents(name.as_str());
        let id = session.next_id();
        let token = format!(
            "{}/{}/{id}/{}/%/{}/{topic}/{dds_type}/{hash}/{}",
            prefix(session),
            node.id,
            code(kind),
            node.parts,
            profile::encode(qos),
        );
        let topic_key = name.as_str().trim_start_matches('/');
        let key = format!("{}/{topic_key}/{dds_type}/{hash}", session.domain_id());
        Ok(Self {
            key: KeyExpr::try_from(key).map_err(refused)?,
            gid: gid_of(&token),
            others: tokens::ends(code(counterpart(kind)), &topic, &dds_type, hash),
            token: KeyExpr::try_from(token).map_err(refused)?,
        })
    }

    /// Announces the endpoint to the network. It is in the graph until the token is dropped.
    pub(crate) fn announce(&self, session: &Session) -> Result<LivelinessToken, Refused> {
        session.zenoh().liveliness().declare_token(&self.token).wait().map_err(refused)
    }
}

/// Returns the id of the publisher or client with that token, as rmw_zenoh_cpp derives it. Messages name their
/// publisher by it.
pub(crate) fn gid_of(token: &str) -> Gid {
    xxh3_128(token.as_bytes()).to_le_bytes()
}

/// Returns what tokens of the session begin with.
fn prefix(session: &Session) -> String {
    format!("@ros2_lv/{}/{}", session.domain_id(), session.zenoh().zid())
}

/// Returns a name as a part of a token: with `%` in place of slashes.
fn percents(name: &str) -> String {
    name.replace('/', "%")
}

/// Returns the kind of an endpoint as tokens have it.
const fn code(kind: EndpointKind) -> &'static str {
    match kind {
        EndpointKind::Publisher => "MP",
        EndpointKind::Subscription => "MS",
        EndpointKind::Server => "SS",
        EndpointKind::Client => "SC",
    }
}

/// Returns the kind of endpoints that one of this kind is matched with.
const fn counterpart(kind: EndpointKind) -> EndpointKind {
    match kind {
        EndpointKind::Publisher => EndpointKind::Subscription,
        EndpointKind::Subscription => EndpointKind::Publisher,
        EndpointKind::Server => EndpointKind::Client,
        EndpointKind::Client => EndpointKind::Server,
    }
}

/// Returns the name that the type has in DDS, which keys and tokens contain.
fn dds_type(type_name: &TypeName) -> String {
    format!("{}::{}::dds_::{}_", type_name.package, type_name.kind.as_str(), type_name.name)
}

/// Returns the hash of a type as keys and tokens have it. The error says how a hash is written.
fn hash(type_name: &TypeName) -> Result<&str, Refused> {
    let Some(text) = type_name.hash.as_deref() else { return Ok(NO_HASH) };
    let is_hash = text.strip_prefix("RIHS01_").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
    });
    if is_hash {
        return Ok(text);
    }
    let topic_or_service = if type_name.kind == TypeKind::Srv { "service" } else { "topic" };
    Err(Refused(format!(
        "`{text}` is an invalid hash of type `{type_name}`; it should be `RIHS01_` and 64 digits, as `ros2 \
         {topic_or_service} info --verbose` shows it"
    )))
}
