//! Type hashes of ROS 2 Jazzy, as its nodes announce them. Other distributions have the same, but for one message of
//! Lyrical and Rolling, and Humble, which has none.

use rospin_msgs::example_interfaces::action::Fibonacci;
use rospin_wire::{Action, Message, ServiceInterface};

/// Returns a type's hash in the distribution for which this is built, or `None` if that has no hashes.
fn expected(hash: &'static str) -> Option<&'static str> {
    if env!("DISTRIBUTION") != "humble" { Some(hash) } else { None }
}

#[test]
fn hashes_are_those_of_ros() {
    let is_newer = ["lyrical", "rolling"].contains(&env!("DISTRIBUTION"));
    macro_rules! check {
        ($of:ident $($package:ident $kind:ident $name:ident $hash:literal)*) => {
            $(
                let hash = <rospin_msgs::$package::$kind::$name as $of>::TYPE_HASH;
                if !(is_newer && stringify!($name) == "TransitionEvent") {
                    assert_eq!(hash, expected(concat!("RIHS01_", $hash)), stringify!($package/$kind/$name));
                }
            )*
        };
    }
    check! { Message
        action_msgs msg GoalInfo "6398fe763154554353930716b225947f93b672f0fb2e49fdd01bb7a7e37933e9"
        action_msgs msg GoalStatus "32f4cfd717735d17657e1178f24431c1ce996c878c515230f6c5b3476819dbb9"
        action_msgs msg GoalStatusArray "6c1684b00f177d37438febe6e709fc4e2b0d4248dca4854946f9ed8b30cda83e"
        builtin_interfaces msg Time "b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197"
        geometry_msgs msg Twist "9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a"
        lifecycle_msgs msg State "dd2d02b82f3ebc858e53c431b1e6e91f3ffc71436fc81d0715214ac6ee2107a0"
        lifecycle_msgs msg Transition "c65d7b31ea134cba4f54fc867b817979be799f7452035cd35fac9b7421fb3424"
        lifecycle_msgs msg TransitionDescription "c5f1cd4bb1ad2ba0e3329d4ac7015c52a674a72c1faf7974c37a33f4f6048b28"
        lifecycle_msgs msg TransitionEvent "d5f8873a2f0146498f812d7885c7327ce27e463d36811d8792f35ee38c0d6c38"
        rcl_interfaces msg FloatingPointRange "e6af23a23c177fee5f3075c8b1e435162a9b63c863d78c06017460b49684262d"
        rcl_interfaces msg IntegerRange "f7b7fdc0f65f07702e099218e13288c3963bcb9345bde78b560e6cd19800fc5a"
        rcl_interfaces msg ListParametersResult "237ae3428413dcbcfb452b510c42355f3a2b021dc091afa3e18526d57022f1cd"
        rcl_interfaces msg Log "e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac"
        rcl_interfaces msg Parameter "ddfe6442cffc462317adb5c92536a7b6dd55858c5c3e1e328165a6b73c2831af"
        rcl_interfaces msg ParameterDescriptor "52175dbfda6c51153101d33d2a9da05743f66f02d5ab2ca9ec4709b46b73d704"
        rcl_interfaces msg ParameterEvent "043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204"
        rcl_interfaces msg ParameterValue "115fc089a387e23c7ecd3525c9189c379109119d6ab82e8dfbde0fdf6a7f9b68"
        rcl_interfaces msg SetParametersResult "cfcc0fb0371ee5159b403960ef4300f8f9d2f1fd6117c8666b7f9654d528a9b1"
        rosgraph_msgs msg Clock "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564"
        std_msgs msg String "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
        type_description_interfaces msg TypeDescription "739f2508c9fa3a6f330913ff5b9d25fb74159a077da71e1087f51a60c12a080b"
        unique_identifier_msgs msg UUID "1b8e8aca958cbea28fe6ef60bf6c19b683c97a9ef60bb34752067d0f2f7ab437"
    }
    check! { ServiceInterface
        action_msgs srv CancelGoal "573d8b0a534451d7bc2ac8c5ffde8ac14b8593b7001175d0cd6516dcbeb8689a"
        example_interfaces srv AddTwoInts "e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a"
        lifecycle_msgs srv ChangeState "356fe34f0475a43acf54542013af4167b0e729f77ea22ffb045c6ad8e20668e5"
        lifecycle_msgs srv GetAvailableStates "00a07d79d2207d71e81a8cbc1880e5d924cc16d4688ea8e8e06e443dc8f8aa1d"
        lifecycle_msgs srv GetAvailableTransitions "59b7ecefce0982a8a844b9f2c4f14764c1c4543cc55e72924e2aa4adad83e9bc"
        lifecycle_msgs srv GetState "800a0a5aae599782b02932de0caf563f6dc4e7e94b794eadde075ba2cbef9795"
        rcl_interfaces srv DescribeParameters "845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff"
        rcl_interfaces srv GetParameterTypes "da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca"
        rcl_interfaces srv GetParameters "bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc"
        rcl_interfaces srv ListParameters "3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d"
        rcl_interfaces srv SetParameters "56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0"
        rcl_interfaces srv SetParametersAtomically "0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd"
        type_description_interfaces srv GetTypeDescription "69b9c19c1021405984cc60dbbb1edceb147a6538b411d812ba6afabeed962cd5"
    }
}

#[test]
fn hashes_of_actions_are_those_of_ros() {
    let hashes = [Fibonacci::SEND_GOAL_HASH, Fibonacci::GET_RESULT_HASH, Fibonacci::FEEDBACK_MESSAGE_HASH];
    let of_ros = [
        "RIHS01_d1a57fb2a4afe8c21e34fb10db206f16ce6729b28531141472df92277c55b557",
        "RIHS01_1b0de0d5d29dc955d92f546706568428632771db13ec84c15ec1c1a59f424a57",
        "RIHS01_c1de71afd52e49a89c53d8262366884185bc0a02f78ce051c4e46b0a7fe59bb2",
    ];
    assert_eq!(hashes, of_ros.map(expected));
}
