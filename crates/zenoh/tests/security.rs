//! Security by settings of the session: TLS over QUIC decides about who joins, access control about who may send and
//! hear.

mod common;

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;

use common::{Place, Text, context, executor, guest_options, isolated, text, wait_until};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rospin_engine::Executor;
use rospin_zenoh::{Mode, Node, OpenError, Session, SessionOptions, Subscription};

/// An issuer of certificates. Its files are deleted when it is dropped.
struct Authority {
    directory: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("rospin-zenoh-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        fs::write(directory.join("ca.pem"), certificate.pem()).unwrap();
        Self { directory, issuer: Issuer::new(params, key) }
    }

    /// Issues a certificate for this machine, under the name `name`.
    fn issue(&self, name: &str) {
        let mut params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.file(name, "pem"), certificate.pem()).unwrap();
        fs::write(self.file(name, "key"), key.serialize_pem()).unwrap();
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.directory.join(format!("{name}.{extension}"))
    }

    /// Has the session show that certificate, and talk to those only who show one of this authority, too.
    fn secure(&self, options: SessionOptions, name: &str) -> SessionOptions {
        let setting = |options: SessionOptions, key: &str, file: PathBuf| {
            options.setting(format!("transport/link/tls/{key}"), format!("{:?}", file.to_str().unwrap()))
        };
        let options = options.setting("transport/link/tls/enable_mtls", "true");
        let options = setting(options, "root_ca_certificate", self.file("ca", "pem"));
        ["listen", "connect"].into_iter().fold(options, |options, end| {
            let options = setting(options, &format!("{end}_certificate"), self.file(name, "pem"));
            setting(options, &format!("{end}_private_key"), self.file(name, "key"))
        })
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // If this fails, the files stay in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Returns a free endpoint that encrypts and keeps the order of all messages.
fn place() -> Place {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = socket.local_addr().unwrap().port();
    Place { endpoint: format!("quic/localhost:{port}?multistream=0") }
}

fn listen(executor: &Executor, node: &Node, topic: &str) -> (Subscription, rospin_engine::CallbackGroup<()>, Heard) {
    let group = executor.create_group("listener", ());
    let heard = Heard::default();
    let log = Heard::clone(&heard);
    let subscription = node.on(&group).create_subscription(topic, move |message: Text| {
        log.lock().unwrap().push(message.data);
    });
    (subscription.unwrap(), group, heard)
}

type Heard = std::sync::Arc<std::sync::Mutex<Vec<String>>>;

#[test]
fn only_those_with_a_certificate_join() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let authority = Authority::new("ours");
    let stranger = Authority::new("theirs");
    let place = place();
    for name in ["host", "guest"] {
        authority.issue(name);
    }
    stranger.issue("guest");
    let host = Session::open(authority.secure(isolated().listen([place.endpoint.as_str()]), "host")).unwrap();
    let host = host.ros(&context).create_node("host").unwrap();
    let client = || guest_options(&place.endpoint).mode(Mode::Client);

    // Three intruders: the first trusts the host, but its certificate is from another authority; the second has no
    // certificate; the third does not even encrypt.
    let forged = authority.secure(client(), "guest");
    let forged =
        forged.setting("transport/link/tls/connect_certificate", format!("{:?}", stranger.file("guest", "pem")));
    let forged =
        forged.setting("transport/link/tls/connect_private_key", format!("{:?}", stranger.file("guest", "key")));
    let ca = format!("{:?}", authority.file("ca", "pem"));
    let anonymous = client().setting("transport/link/tls/root_ca_certificate", ca);
    let plain = guest_options(&place.endpoint.replace("quic", "tcp").replace("?multistream=0", "")).mode(Mode::Client);
    for options in [forged, anonymous, plain] {
        assert!(matches!(Session::open(options), Err(OpenError::Zenoh { .. })));
    }

    let guest = Session::open(authority.secure(client(), "guest")).unwrap().ros(&context).create_node("guest").unwrap();
    for node in [&host, &guest] {
        wait_until(&executor, "they see each other", || node.node_names() == ["/guest", "/host"]);
    }
    let (subscription, _group, heard) = listen(&executor, &host, "chatter");
    let publisher = guest.create_publisher::<Text>("chatter").unwrap();
    wait_until(&executor, "they are matched", || {
        publisher.subscription_count() == 1 && subscription.publisher_count() == 1
    });
    publisher.publish(text("hello")).unwrap();
    wait_until(&executor, "it is heard", || *heard.lock().unwrap() == ["hello"]);
}

/// Nobody whose certificate says `guest` gets a message on `secret` through the router, in or out.
const ACCESS: &str = r#"{
    enabled: true,
    default_permission: "allow",
    rules: [{
        id: "no secrets",
        messages: ["put", "declare_subscriber"],
        flows: ["ingress", "egress"],
        permission: "deny",
        key_exprs: ["*/secret/**"],
    }],
    subjects: [{ id: "guests", cert_common_names: ["guest"] }],
    policies: [{ rules: ["no secrets"], subjects: ["guests"] }],
}"#;

#[test]
fn a_router_denies_a_topic() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let authority = Authority::new("access");
    let place = place();
    for name in ["router", "member", "guest"] {
        authority.issue(name);
    }
    let options = isolated().setting("mode", "\"router\"").listen([place.endpoint.as_str()]);
    let _router = Session::open(authority.secure(options.setting("access_control", ACCESS), "router")).unwrap();
    let join = |certificate: &str, name: &str| {
        let options = guest_options(&place.endpoint).mode(Mode::Client);
        Session::open(authority.secure(options, certificate)).unwrap().ros(&context).create_node(name).unwrap()
    };
    let listener = join("member", "listener");
    let member = join("member", "member");
    let guest = join("guest", "guest");
    let (secret, _secrets, secrets) = listen(&executor, &listener, "secret");
    let (chatter, _chats, chats) = listen(&executor, &listener, "chatter");
    let (_secret, _overheard, overheard) = listen(&executor, &guest, "secret");
    for (node, is_heard) in [(&member, true), (&guest, false)] {
        let name = node.fully_qualified_name();
        let secret_publisher = node.create_publisher::<Text>("secret").unwrap();
        let publisher = node.create_publisher::<Text>("chatter").unwrap();
        // Access control denies no tokens, so the ends are matched as far as they can tell.
        wait_until(&executor, "they are matched", || {
            publisher.subscription_count() == 1 && chatter.publisher_count() == 1 && secret.publisher_count() == 1
        });
        secret_publisher.publish(text(format!("secret of {name}"))).unwrap();
        publisher.publish(text(format!("chat of {name}"))).unwrap();
        // The chat takes the same path as the secret and was sent after it. Once the chat arrives, a secret that is not
        // there was denied.
        wait_until(&executor, "it is heard", || chats.lock().unwrap().contains(&format!("chat of {name}")));
        if is_heard {
            wait_until(&executor, "so is the other one", || secrets.lock().unwrap().len() == 1);
        }
    }
    assert_eq!(*secrets.lock().unwrap(), ["secret of /member"]);
    wait_until(&executor, "it is heard by itself", || !overheard.lock().unwrap().is_empty());
    // A guest's messages to itself pass no router.
    assert_eq!(*overheard.lock().unwrap(), ["secret of /guest"]);
}
