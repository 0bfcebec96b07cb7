//! DDS security: only those with a certificate of the domain hear. With the feature `security` only.
//!
//! Keys and documents are made by the command `openssl`; where there is none, the tests say so and pass.

#![cfg(feature = "security")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{LOOPBACK, Text, context, domain_id, executor, options, text, wait};
use futures::channel::oneshot;
use rospin_dds::{Domain, DomainOptions, JoinError, Node, TopicError};
use rospin_engine::{ClockKind, Context};
use rospin_testkit::peers::KilledChild;

/// The rules that `ros2 security create_keystore` writes: nobody joins without a certificate, and all that is said is
/// encrypted.
const GOVERNANCE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
     xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_governance.xsd">
  <domain_access_rules>
    <domain_rule>
      <domains><id_range><min>0</min><max>230</max></id_range></domains>
      <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
      <enable_join_access_control>true</enable_join_access_control>
      <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
      <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
      <rtps_protection_kind>SIGN</rtps_protection_kind>
      <topic_access_rules>
        <topic_rule>
          <topic_expression>*</topic_expression>
          <enable_discovery_protection>true</enable_discovery_protection>
          <enable_liveliness_protection>true</enable_liveliness_protection>
          <enable_read_access_control>true</enable_read_access_control>
          <enable_write_access_control>true</enable_write_access_control>
          <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
          <data_protection_kind>ENCRYPT</data_protection_kind>
        </topic_rule>
      </topic_access_rules>
    </domain_rule>
  </domain_access_rules>
</dds>"#;

/// The rules for a node, with which some tests find fault.
struct Rules {
    /// The number of days for which its certificate is valid.
    certificate_days: i32,
    /// The year until whose first day it has its permissions.
    permitted_until: u32,
    /// The last domain for which it has them.
    last_domain: u16,
}

impl Rules {
    const GOOD: Self = Self { certificate_days: 30, permitted_until: 2099, last_domain: 230 };
}

/// Returns the document that says what the node may publish and subscribe to.
fn permissions(name: &str, rules: &Rules) -> String {
    let Rules { permitted_until, last_domain, .. } = rules;
    let topics = "<topics><topic>ros_discovery_info</topic><topic>rt/parameter_events</topic><topic>rt/rosout</topic>\
                  <topic>rt/chatter</topic></topics>";
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
     xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-Security/20170901/omg_shared_ca_permissions.xsd">
  <permissions>
    <grant name="{name}">
      <subject_name>CN=/{name}</subject_name>
      <validity><not_before>2020-01-01T00:00:00</not_before><not_after>{permitted_until}-01-01T00:00:00</not_after></validity>
      <allow_rule>
        <domains><id_range><min>0</min><max>{last_domain}</max></id_range></domains>
        <publish>{topics}</publish>
        <subscribe>{topics}</subscribe>
      </allow_rule>
      <default>DENY</default>
    </grant>
  </permissions>
</dds>"#
    )
}

/// Runs `openssl` in a directory, or says why it cannot.
fn openssl(directory: &Path, arguments: &str) -> Result<(), String> {
    let output = Command::new("openssl").current_dir(directory).args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| format!("`openssl` cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("`openssl {arguments}`: {}", said.trim())) }
}

/// A keystore with the certificates of its authorities; gone when this is dropped.
struct Authority(PathBuf, String);

impl Authority {
    #[expect(clippy::print_stderr, reason = "it says that the test is skipped")]
    fn new(name: &str, governance: &str) -> Option<Self> {
        let directory = std::env::temp_dir().join(format!("rospin-security-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let authority = Self(directory, governance.to_owned());
        let made = openssl(&authority.0, "ecparam -name prime256v1 -out curve.pem").and_then(|()| {
            for ca in ["identity_ca", "permissions_ca"] {
                openssl(
                    &authority.0,
                    &format!(
                        "req -x509 -newkey param:curve.pem -nodes -keyout {ca}.key.pem -out {ca}.cert.pem -days 30 \
                         -subj /O=rospin/CN={ca}"
                    ),
                )?;
            }
            Ok(())
        });
        match made {
            Ok(()) => Some(authority),
            Err(why) => {
                eprintln!("SKIPPED for want of keys: {why}");
                None
            }
        }
    }

    /// Makes the files of an enclave, which `ros2 security create_enclave` calls by its name alone.
    fn enclave(&self, name: &str) -> PathBuf {
        self.enclave_with(name, &Rules::GOOD)
    }

    fn enclave_with(&self, name: &str, rules: &Rules) -> PathBuf {
        let directory = self.0.join("enclaves").join(name);
        fs::create_dir_all(&directory).unwrap();
        for ca in ["identity_ca", "permissions_ca"] {
            fs::copy(self.0.join(format!("{ca}.cert.pem")), directory.join(format!("{ca}.cert.pem"))).unwrap();
        }
        fs::write(directory.join("governance.xml"), &self.1).unwrap();
        fs::write(directory.join("permissions.xml"), permissions(name, rules)).unwrap();
        let sign = |document: &str| {
            format!(
                "smime -sign -text -in {document}.xml -out {document}.p7s -signer permissions_ca.cert.pem -inkey \
                 ../../permissions_ca.key.pem"
            )
        };
        for arguments in [
            &format!("req -newkey param:../../curve.pem -nodes -keyout key.pem -out request.pem -subj /CN=\\/{name}"),
            &format!(
                "x509 -req -days {} -in request.pem -CA identity_ca.cert.pem -CAkey ../../identity_ca.key.pem -out \
                 cert.pem -set_serial 1",
                rules.certificate_days
            ),
            &sign("governance"),
            &sign("permissions"),
        ] {
            openssl(&directory, arguments).unwrap();
        }
        directory
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // If this fails, the folder stays in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Joins as the only one of this process: Cyclone DDS looks for a second participant's rules in another domain.
fn secure(context: &Context, domain_id: u16, enclave: &Path) -> Node {
    let domain = Domain::join(options(domain_id).security(enclave)).unwrap();
    domain.ros(context).create_node("talker").unwrap()
}

/// The node's name in another process, which is set up by its environment.
const NAME: &str = "ROSPIN_TEST_SECURITY_NAME";

/// A node in a process of its own that listens until its standard input ends.
struct Other {
    process: KilledChild,
    says: Lines<BufReader<ChildStdout>>,
}

impl Other {
    /// Starts it with an enclave of that keystore, if there is one.
    fn start(name: &str, domain_id: u16, keystore: Option<&Authority>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "the_other_process", "--nocapture"]);
        command.env(NAME, name).env("ROS_DOMAIN_ID", domain_id.to_string()).env("CYCLONEDDS_URI", LOOPBACK);
        command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        if let Some(Authority(keystore, _)) = keystore {
            command.env("ROS_SECURITY_ENABLE", "true").env("ROS_SECURITY_STRATEGY", "Enforce");
            command.env("ROS_SECURITY_KEYSTORE", keystore).env("ROS_SECURITY_ENCLAVE_OVERRIDE", "/listener");
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let says = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process: KilledChild(process), says }
    }

    /// Waits for a line that begins with that word, and returns the rest.
    fn expect(&mut self, word: &str) -> String {
        let mut rest = self.says.by_ref().map_while(Result::ok);
        rest.find_map(|line| line.strip_prefix(word).map(str::to_owned)).expect("it says so before it ends")
    }

    /// Ends it, and returns all that it heard, how many publishers it is matched with, and the nodes that it sees.
    fn end(mut self) -> String {
        drop(self.process.stdin.take());
        self.expect("end ")
    }
}

/// The part of the other processes; without it, nothing.
#[test]
#[expect(clippy::print_stdout, reason = "the test that started it reads it")]
fn the_other_process() {
    let Ok(name) = std::env::var(NAME) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = Domain::join(DomainOptions::from_env().unwrap()).unwrap();
    let node = domain.ros(&context).create_node(name.as_str()).unwrap();
    let group = executor.create_group("listener", Vec::new());
    let subscription = node
        .on(&group)
        .create_subscription("chatter", |heard: &mut Vec<String>, message: Text| heard.push(message.data))
        .unwrap();
    println!("listens");
    let (ended, end) = oneshot::channel();
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    wait(&executor, "the end", end).unwrap();
    let publishers = subscription.publisher_count();
    let nodes = node.node_names();
    drop(subscription);
    println!("end {:?} {publishers} {nodes:?}", group.into_payload().unwrap());
}

#[test]
fn only_those_with_a_certificate_of_the_domain_hear() {
    let (Some(authority), Some(stranger)) = (Authority::new("ours", GOVERNANCE), Authority::new("theirs", GOVERNANCE))
    else {
        return;
    };
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    authority.enclave("listener");
    stranger.enclave("listener");
    let talker = secure(&context, id, &authority.enclave("talker"));
    let publisher = talker.create_publisher::<Text>("chatter").unwrap();
    let others =
        [("forger", Some(&stranger)), ("plain", None), ("listener", Some(&authority))].map(|(name, keystore)| {
            let mut other = Other::start(name, id, keystore);
            other.expect("listens");
            other
        });
    wait(&executor, "the listener is matched", publisher.wait_for_subscription());
    let sleep = |seconds| executor.handle().sleep(ClockKind::Steady, Duration::from_secs(seconds));
    // The other processes would be matched by then if they could be: they are as fast as the listener.
    wait(&executor, "time passes", sleep(2)).unwrap();
    // Encryption must not pad messages to a multiple of four bytes, whatever their lengths.
    let said = ["", "s", "se", "sec", "secret"];
    for data in said {
        publisher.publish(text(data)).unwrap();
    }
    wait(&executor, "time passes", sleep(1)).unwrap();
    // The processes do not see each other in the graph, either.
    assert_eq!((publisher.subscription_count(), talker.node_names()), (1, vec!["/listener".into(), "/talker".into()]));
    let [forger, plain, listener] = others;
    assert_eq!(listener.end(), format!("{said:?} 1 [\"/listener\", \"/talker\"]"));
    assert_eq!(forger.end(), "[] 0 [\"/forger\"]");
    assert_eq!(plain.end(), "[] 0 [\"/plain\"]");
}

#[test]
fn a_process_joins_a_secure_domain_once() {
    let Some(authority) = Authority::new("twice", GOVERNANCE) else { return };
    let id = domain_id();
    let enclave = authority.enclave("talker");
    let _first = Domain::join(options(id).security(&enclave)).unwrap();
    let second = Domain::join(options(id).security(&enclave));
    assert!(matches!(second, Err(JoinError::Security { .. })));
}

#[test]
fn an_end_without_permission_is_refused_when_it_is_created() {
    let Some(authority) = Authority::new("narrow", GOVERNANCE) else { return };
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = secure(&context, id, &authority.enclave("talker"));
    let _chatter = node.create_publisher::<Text>("chatter").unwrap();
    assert!(matches!(node.create_publisher::<Text>("secret"), Err(TopicError::Refused { .. })));
    let group = executor.create_group("group", ());
    let refused = node.on(&group).create_subscription("secret", |_: Text| ());
    assert!(matches!(refused, Err(TopicError::Refused { .. })));
}

#[test]
fn without_its_files_nobody_joins() {
    let joined = Domain::join(options(domain_id()).security("/no/such/enclave"));
    assert!(matches!(joined, Err(JoinError::Security { .. })));
}

#[test]
fn a_forged_certificate_does_not_join() {
    let Some(authority) = Authority::new("own", GOVERNANCE) else { return };
    let enclave = authority.enclave("talker");
    let sign = "req -x509 -newkey param:../../curve.pem -nodes -keyout key.pem -out cert.pem -days 30 -subj /CN=talker";
    openssl(&enclave, sign).unwrap();
    let joined = Domain::join(options(domain_id()).security(enclave));
    assert!(matches!(joined, Err(JoinError::Participant { .. })));
}

#[test]
fn rules_that_have_expired_or_are_of_another_domain_let_nobody_join() {
    let Some(authority) = Authority::new("old", GOVERNANCE) else { return };
    let id = domain_id();
    let rules = [
        ("expired", Rules { certificate_days: -1, ..Rules::GOOD }),
        ("revoked", Rules { permitted_until: 2021, ..Rules::GOOD }),
        ("elsewhere", Rules { last_domain: id - 1, ..Rules::GOOD }),
    ];
    for (name, rules) in rules {
        let joined = Domain::join(options(id).security(authority.enclave_with(name, &rules)));
        assert!(matches!(joined, Err(JoinError::Participant { .. })), "{name}");
    }
    Domain::join(options(id).security(authority.enclave("good"))).unwrap();
}
