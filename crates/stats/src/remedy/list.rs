//! Enums of remedies without values, each with its code.

/// Defines an enum of remedies without values: variants, their codes, and the way back from a code.
macro_rules! remedies {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them, with their codes, in the order of the enum.
            pub const ALL: &'static [($name, &'static str)] = &[$(($name::$variant, $code),)*];

            /// Stable name for programs.
            pub fn code(self) -> &'static str {
                $name::ALL[self as usize].1
            }

            /// The remedy with this code.
            pub(super) fn of_code(code: &str) -> Option<$name> {
                $name::ALL.iter().find(|(_, of)| *of == code).map(|(remedy, _)| *remedy)
            }
        }
    };
}

pub(super) use remedies;
