//! Contenders: one timer, six ways to run it.

use clap::builder::PossibleValue;
use plotters::style::RGBColor;

/// A way to run a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contender {
    /// A loop of `clock_nanosleep` with absolute due times: nothing in user space is less late.
    Floor,
    /// A loop of epoll and a timer of the kernel for each timer, as programs without any framework have it.
    Timerfd,
    /// A loop that awaits the ticks of `tokio::time::interval`.
    TokioInterval,
    /// A Tokio task for the timer, which sleeps and sends a mail to the task that runs the callback.
    TaskPerTimer,
    /// A timer of rcl in a wait set, in a program of its own.
    Rcl,
    /// A timer of rospin's executor.
    Rospin,
}

impl Contender {
    pub(crate) const ALL: [Self; 6] =
        [Self::Floor, Self::Timerfd, Self::TokioInterval, Self::TaskPerTimer, Self::Rcl, Self::Rospin];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Floor => "clock-nanosleep",
            Self::Timerfd => "timerfd",
            Self::TokioInterval => "tokio-interval",
            Self::TaskPerTimer => "task-a-timer",
            Self::Rcl => "rcl",
            Self::Rospin => "rospin",
        }
    }

    /// Returns a description of the contender for people.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Floor => "a bare loop that sleeps to absolute due times: the floor",
            Self::Timerfd => "a loop of epoll and a timerfd with absolute due times and a period, catching up",
            Self::TokioInterval => "tokio::time::interval on a current-thread runtime, with its default of catching up",
            Self::TaskPerTimer => {
                "a Tokio task a timer, as in rclrs pull request 654: sleeps for the time that is left, posts to the worker's \
                 mailbox and waits until the callback ran; due times that passed meanwhile are skipped, as rcl does"
            }
            Self::Rcl => {
                "a C program with a timer of rcl in a wait set, as in the executors of rclcpp and rclpy: due times that passed are \
                 skipped; needs ROS 2"
            }
            Self::Rospin => "an executor with one thread, catching up",
        }
    }

    /// Returns the colour of a contender. The colours can be told apart with any colour vision, on light and on dark
    /// ground.
    pub(crate) const fn colour(self) -> RGBColor {
        match self {
            Self::Floor => RGBColor(128, 128, 128),
            Self::Timerfd => RGBColor(0, 158, 115),
            Self::TokioInterval => RGBColor(213, 94, 0),
            Self::TaskPerTimer => RGBColor(190, 100, 160),
            Self::Rcl => RGBColor(200, 150, 0),
            Self::Rospin => RGBColor(30, 125, 200),
        }
    }
}

impl clap::ValueEnum for Contender {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.about()))
    }
}

/// Load of the core besides the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    /// Nothing else of this experiment.
    Idle,
    /// A busy executor of lower priority.
    Busy,
}

impl Load {
    pub(crate) const ALL: [Self; 2] = [Self::Idle, Self::Busy];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
        }
    }
}
