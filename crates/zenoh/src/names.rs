//! Nodes and their entities on the network: the keys that their messages go to, and the tokens by which others know of
//! them.

use std::time::Duration;

use hiroz_protocol::entity::{EndpointEntity, NodeEntity};
use hiroz_protocol::qos::{QosDurability, QosDuration, QosHistory, QosLiveliness, QosProfile, QosReliability};
use hiroz_protocol::{EndpointKind, KeyExprFormat, TypeHash, TypeInfo};
use rospin_node::{Durability, FullName, History, Liveliness, NodeName, Qos, Refused, Reliability, TypeKind, TypeName};
use xxhash_rust::xxh3::xxh3_128;
use zenoh::Wait;
use zenoh::key_expr::KeyExpr;
use zenoh::liveliness::LivelinessToken;

use crate::attachment::Gid;
use crate::session::Session;
use crate::tokens;

/// Form of keys and tokens.
const FORMAT: KeyExprFormat = KeyExprFormat::RmwZenoh;

/// Text in place of the hash of a type that has none. Humble's `rmw_zenoh_cpp` writes it for all types.
const NO_HASH: &str = "TypeHashNotSupported";

/// Converts an error of Zenoh.
pub(crate) fn refused(error: impl std::fmt::Display) -> Refused {
    Refused(error.to_string())
}

/// Node of a session, which is in the graph until this value is dropped.
pub(crate) struct ZenohNode {
    pub(crate) session: Session,
    entity: NodeEntity,
    _token: LivelinessToken,
}

impl ZenohNode {
    pub(crate) fn new(session: &Session, name: &NodeName) -> Result<Self, Refused> {
        let entity = NodeEntity {
            domain_id: session.domain_id(),
            z_id: session.zenoh().zid(),
            id: session.next_id(),
            name: name.base_name().to_owned(),
            namespace: name.namespace().to_owned(),
            enclave: String::new(),
        };
        let key = FORMAT.node_liveliness_key_expr(&entity).map_err(refused)?;
        let token = session.zenoh().liveliness().declare_token(&*key).wait().map_err(refused)?;
        Ok(Self { session: session.clone(), entity, _token: token })
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
        let (hash, shown_hash) = match type_name.hash.as_deref() {
            Some(text) => (parse_hash(type_name, text)?, text),
            None => (TypeHash::zero(), NO_HASH),
        };
        // The library always writes a hash, and zeros if there is none. The zeros are replaced by the text that
        // rmw_zenoh_cpp writes.
        let zeros = TypeHash::zero().to_rihs_string();
        let shown = |key: &str| -> Result<KeyExpr<'static>, Refused> {
            let key = if type_name.hash.is_none() { key.replacen(&zeros, NO_HASH, 1) } else { key.to_owned() };
            KeyExpr::try_from(key).map_err(refused)
        };
        let dds_type = dds_type(type_name);
        let entity = EndpointEntity {
            id: node.session.next_id(),
            node: Some(node.entity.clone()),
            kind,
            topic: name.to_string(),
            type_info: Some(TypeInfo::new(&dds_type, hash)),
            qos: profile(qos),
        };
        let token = FORMAT.liveliness_key_expr(&entity, &node.entity.z_id).map_err(refused)?;
        let token = shown(token.as_str())?;
        let topic = name.as_str().replace('/', "%");
        let others = tokens::ends(&counterpart(kind).to_string(), &topic, &dds_type, shown_hash);
        Ok(Self {
            key: shown(FORMAT.topic_key_expr(&entity).map_err(refused)?.as_str())?,
            gid: gid_of(token.as_str()),
            others,
            token,
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

/// Returns the kind of endpoints that one of this kind is matched with.
const fn counterpart(kind: EndpointKind) -> EndpointKind {
    match kind {
        EndpointKind::Publisher => EndpointKind::Subscription,
        EndpointKind::Subscription => EndpointKind::Publisher,
        EndpointKind::Service => EndpointKind::Client,
        EndpointKind::Client => EndpointKind::Service,
    }
}

/// Returns the name that the type has in DDS, which keys and tokens contain.
fn dds_type(type_name: &TypeName) -> String {
    format!("{}::{}::dds_::{}_", type_name.package, type_name.kind.as_str(), type_name.name)
}

/// Returns the hash of a type, from its text. The error says how a hash is written.
fn parse_hash(type_name: &TypeName, text: &str) -> Result<TypeHash, Refused> {
    let is_hash = text.strip_prefix("RIHS01_").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
    });
    TypeHash::from_rihs_string(text).filter(|_| is_hash).ok_or_else(|| {
        let topic_or_service = if type_name.kind == TypeKind::Srv { "service" } else { "topic" };
        Refused(format!(
            "`{text}` is an invalid hash of type `{type_name}`; it should be `RIHS01_` and 64 digits, as `ros2 \
             {topic_or_service} info --verbose` shows it"
        ))
    })
}

/// Returns a limit as tokens have it.
fn limit(limit: Option<Duration>) -> QosDuration {
    limit.map_or_else(QosDuration::default, |limit| QosDuration {
        sec: limit.as_secs(),
        nsec: limit.subsec_nanos().into(),
    })
}

/// Returns a quality of service as tokens have it.
fn profile(qos: &Qos) -> QosProfile {
    QosProfile {
        reliability: match qos.reliability {
            Reliability::BestEffort => QosReliability::BestEffort,
            Reliability::Reliable => QosReliability::Reliable,
        },
        durability: match qos.durability {
            Durability::Volatile => QosDurability::Volatile,
            Durability::TransientLocal => QosDurability::TransientLocal,
        },
        history: match qos.history {
            History::KeepLast(depth) => QosHistory::KeepLast(depth),
            History::KeepAll => QosHistory::KeepAll,
        },
        deadline: limit(qos.deadline()),
        lifespan: limit(qos.lifespan()),
        liveliness: match qos.liveliness {
            Liveliness::Automatic => QosLiveliness::Automatic,
            Liveliness::ManualByTopic => QosLiveliness::ManualByTopic,
        },
        liveliness_lease_duration: limit(qos.liveliness_lease()),
    }
}
