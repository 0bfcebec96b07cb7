//! DDS security: who has no place in the domain hears nothing. With the feature `security` only.
//!
//! Keys and documents are made by the command `openssl`; where there is none, the tests say so and pass.

#![cfg(feature = "security")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{Text, context, domain_id, executor, options, spin, text, wait};
use rospin_engine::{ClockKind, Executor};
use rospin_ros2_client::{Domain, JoinError, Node, TopicError};

/// Nobody joins without a certificate, and all that says something is encrypted, payloads as a part of it.
const GOVERNANCE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
     xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_governance.xsd">
  <domain_access_rules>
    <domain_rule>
      <domains><id_range><min>0</min><max>232</max></id_range></domains>
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
          <data_protection_kind>NONE</data_protection_kind>
        </topic_rule>
      </topic_access_rules>
    </domain_rule>
  </domain_access_rules>
</dds>"#;

/// What the node may publish and subscribe to.
fn permissions(name: &str) -> String {
    let topics = "<topics><topic>ros_discovery_info</topic><topic>rt/parameter_events</topic><topic>rt/rosout</topic>\
                  <topic>rt/chatter</topic></topics>";
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
     xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-Security/20170901/omg_shared_ca_permissions.xsd">
  <permissions>
    <grant name="{name}">
      <subject_name>CN={name},O=rospin</subject_name>
      <validity><not_before>2020-01-01T00:00:00</not_before><not_after>9999-01-01T00:00:00</not_after></validity>
      <allow_rule>
        <domains><id_range><min>0</min><max>232</max></id_range></domains>
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

/// Who says who is who, and who may do what; gone when this is dropped.
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
                    &format!("req -x509 -newkey param:curve.pem -nodes -keyout {ca}.key.pem -out {ca}.cert.pem -days 30 -subj /O=rospin/CN={ca}"),
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

    /// Makes the files of a participant.
    fn enclave(&self, name: &str) -> PathBuf {
        let directory = self.0.join(name);
        fs::create_dir_all(&directory).unwrap();
        for ca in ["identity_ca", "permissions_ca"] {
            fs::copy(self.0.join(format!("{ca}.cert.pem")), directory.join(format!("{ca}.cert.pem"))).unwrap();
        }
        fs::write(directory.join("governance.xml"), &self.1).unwrap();
        fs::write(directory.join("permissions.xml"), permissions(name)).unwrap();
        let sign = |document: &str| {
            format!(
                "smime -sign -text -in {document}.xml -out {document}.p7s -signer permissions_ca.cert.pem -inkey ../permissions_ca.key.pem"
            )
        };
        for arguments in [
            &format!(
                "req -newkey param:../curve.pem -nodes -keyout key.pem -out request.pem -subj /O=rospin/CN={name}"
            ),
            "x509 -req -days 30 -in request.pem -CA identity_ca.cert.pem -CAkey ../identity_ca.key.pem -out cert.pem -set_serial 1",
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
        // What is left behind is in the directory for what is temporary.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn secure(executor: &Executor, domain_id: u16, enclave: &Path) -> Node {
    let domain = Domain::join(&executor.handle(), options(domain_id).security(enclave)).unwrap();
    domain.ros().create_node(enclave.file_name().unwrap().to_str().unwrap()).unwrap()
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
    let talker = secure(&executor, id, &authority.enclave("talker"));
    let listener = secure(&executor, id, &authority.enclave("listener"));
    let forger = secure(&executor, id, &stranger.enclave("listener"));
    let plain = Domain::join(&executor.handle(), options(id)).unwrap().ros().create_node("plain").unwrap();

    let publisher = talker.create_publisher::<Text>("chatter").unwrap();
    let listen = |node: &Node, name: &str| {
        let (group, handle) = (executor.create_group(name, Vec::new()), executor.handle());
        let subscription =
            node.on(&group).create_subscription("chatter", move |heard: &mut Vec<String>, message: Text| {
                heard.push(message.data);
                handle.halt();
            });
        (subscription.unwrap(), group)
    };
    let (others, groups): (Vec<_>, Vec<_>) = [listen(&forger, "forger"), listen(&plain, "plain")].into_iter().unzip();
    let (subscription, group) = listen(&listener, "listener");
    wait(&executor, "they are matched", publisher.wait_for_subscription());
    wait(&executor, "they are matched both ways", subscription.wait_for_publisher());
    // Time enough for the others, who would have been as fast.
    wait(&executor, "time passes", executor.handle().sleep(ClockKind::Steady, Duration::from_secs(2))).unwrap();
    publisher.publish(text("secret")).unwrap();
    spin(&executor, "it is heard");
    assert_eq!(publisher.subscription_count(), 1);
    assert!(others.iter().all(|other| other.publisher_count() == 0));
    assert_eq!(group.into_payload().unwrap(), ["secret"]);
    for group in groups {
        assert_eq!(group.into_payload().unwrap(), [""; 0]);
    }
    // Nor do they see each other in the graph.
    assert_eq!(talker.node_names(), ["/listener", "/talker"]);
    assert_eq!(plain.node_names(), ["/plain"]);
}

#[test]
fn what_is_not_permitted_is_refused_here_already() {
    let Some(authority) = Authority::new("narrow", GOVERNANCE) else { return };
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = secure(&executor, id, &authority.enclave("talker"));
    let _chatter = node.create_publisher::<Text>("chatter").unwrap();
    assert!(matches!(node.create_publisher::<Text>("secret"), Err(TopicError::Refused { .. })));
    let group = executor.create_group("group", ());
    let refused = node.on(&group).create_subscription("secret", |_: Text| ());
    assert!(matches!(refused, Err(TopicError::Refused { .. })));
}

#[test]
fn without_its_files_nobody_joins() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let joined = Domain::join(&executor.handle(), options(domain_id()).security("/no/such/enclave"));
    assert!(matches!(joined, Err(JoinError::Participant { .. })));
}

#[test]
fn rules_under_which_messages_would_be_lost_are_refused() {
    let alone = GOVERNANCE.replace("<data_protection_kind>NONE<", "<data_protection_kind>ENCRYPT<");
    let Some(authority) = Authority::new("payloads", &alone) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let joined = Domain::join(&executor.handle(), options(domain_id()).security(authority.enclave("talker")));
    let Err(error) = joined else { panic!("it should be refused") };
    assert!(error.to_string().contains("metadata_protection_kind"), "{error}");
}
