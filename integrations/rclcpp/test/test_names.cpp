#include <gtest/gtest.h>

#include <string>

#include "names.hpp"

TEST(Names, are_relative_to_the_node_and_its_namespace)
{
  EXPECT_EQ(rospin::callback_name("/planner", "/scan"), "planner/scan");
  EXPECT_EQ(rospin::callback_name("/planner", "/planner/state"), "planner/state");
  EXPECT_EQ(rospin::callback_name("/robot1/planner", "/robot1/scan"), "robot1/planner/scan");
  EXPECT_EQ(rospin::callback_name("/robot1/planner", "/robot1/planner/state"), "robot1/planner/state");
  EXPECT_EQ(rospin::callback_name("/robot1/planner", "/clock"), "robot1/planner/clock");
  EXPECT_EQ(rospin::callback_name("/robot1/planner", "/robot10/scan"), "robot1/planner/robot10/scan");
}

TEST(Names, of_timers_have_numbers)
{
  EXPECT_EQ(rospin::numbered_name("/robot1/planner", "timer", 1), "robot1/planner/timer1");
  EXPECT_EQ(rospin::numbered_name("", "timer", 0), "timer0");
}

TEST(Names, of_services_tell_which_ones_operators_need)
{
  EXPECT_TRUE(rospin::is_way_in("/robot1/planner", "/robot1/planner/set_parameters"));
  EXPECT_TRUE(rospin::is_way_in("/planner", "/planner/change_state"));
  for (const char * name : {"load_node", "unload_node", "list_nodes"}) {
    EXPECT_TRUE(rospin::is_way_in("/robot1/container", std::string("/robot1/container/_container/") + name)) << name;
  }
  EXPECT_FALSE(rospin::is_way_in("/planner", "/other/set_parameters"));
  EXPECT_FALSE(rospin::is_way_in("/planner", "/planner/reset"));
}
