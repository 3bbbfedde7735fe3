//! Context of tables: the command, the device, headings.

use super::command::{self, Command, Heading};
use super::tables::Told;

/// Context seen before a table.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub device: Option<String>,
    pub capacity_bytes: Option<u64>,
    pub command: Option<Command>,
    pub heading: Heading,
    /// Tables of the command that were already seen.
    pub came: Came,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Came {
    pub align: bool,
    pub open_au: bool,
    pub find_fat: bool,
    pub scatter: bool,
    pub program: bool,
}

impl Around {
    /// Returns the context of a table, and its command. `of_it` decides whether the command printed it, and marks
    /// it as printed.
    pub(super) fn told(
        &mut self,
        of_it: impl FnOnce(&Command, &mut Came) -> bool,
    ) -> (Told, Option<Command>) {
        let command = self.command.as_ref();
        let named = command.and_then(|command| command.device.clone());
        let mut came = self.came;
        let command = command.filter(|command| of_it(command, &mut came)).cloned();
        if !command.as_ref().is_some_and(Command::is_in_loop) {
            self.came = came;
        }
        let value = |of: fn(&Command) -> command::Given| of(command.as_ref()?).value();
        let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        let told = Told {
            command: command.as_ref().map(|command| command.text.clone()),
            device: self.device.clone().or(named),
            capacity_bytes: self.capacity_bytes,
            block_bytes: value(|c| c.block_bytes).or(self.heading.block_bytes),
            erase_bytes: value(|c| c.erase_bytes).or(self.heading.erase_bytes),
            count: small(value(|c| c.count)),
            scatter_span: small(value(|c| c.span)),
        };
        (told, command)
    }
}
