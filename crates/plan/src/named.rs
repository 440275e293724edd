//! Enums whose variants have names: written once, beside the variant.

/// An enum with `ALL` and `name`, where each variant is followed by its name.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* pub enum $enum:ident {
        $($(#[$what:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$about])*
        pub enum $enum {
            $($(#[$what])* $variant,)+
        }

        impl $enum {
            /// Every one, in the order of tables.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name used in every output format.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
