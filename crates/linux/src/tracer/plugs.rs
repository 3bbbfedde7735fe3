//! Assignment of plugs and unplugs to devices.
//!
//! The tracepoints `block_plug` and `block_unplug` name a task and a count but no device, and a filter cannot select
//! them by device: those of all devices come. But the kernel's order of events (`block/blk-mq.c`) decides:
//!
//! - A task plugs when it has just been given a request and none of its own was waiting: P follows the G of that
//!   request, and in between the task only has events of older requests. When the G was of another device, it was
//!   not recorded, and no G of ours is left that the P could belong to.
//! - A task unplugs one queue at a time, and then gives that queue its requests: I, M or D of one of them is the
//!   task's next event. If it is not, the queue is not ours. Nor is it when the task was given fewer requests than
//!   it lets go: a worker of the kernel unplugs other devices, and issues to ours what others were given.

use std::collections::{HashMap, VecDeque};

use block::trace::{Action, DeviceNumber, Extra, TraceEvent, Traits};

use super::events::UNPLACED;

/// Tasks that are remembered at a time.
const TASKS_MAX: usize = 1 << 16;
/// Events that may wait for an unplug to be placed.
const HELD_MAX: usize = 1 << 12;

/// Puts devices to plugs and unplugs, in a stream that is in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Plugs {
    /// Requests that a task was given last, and has done nothing with yet: device and sector.
    given: HashMap<u32, (DeviceNumber, u64)>,
    /// Count of requests of a device that a task was given and still holds.
    owned: HashMap<(u32, DeviceNumber), u64>,
    /// Events from the first unplug on that is not placed yet.
    held: VecDeque<Held>,
    /// Of them, unplugs that are not placed.
    open: usize,
}

/// An event that waits.
#[derive(Debug)]
enum Held {
    /// For those before it alone.
    Ready(TraceEvent),
    /// For its device.
    Open(TraceEvent),
    /// For nothing: it is of a device that is not traced.
    Foreign,
}

impl Plugs {
    /// Takes `event` and appends to `out` what is settled by it, in the order that it came.
    pub(crate) fn take(&mut self, mut event: TraceEvent, out: &mut Vec<TraceEvent>) {
        match event.action {
            Action::GetRequest => {
                if self.given.len() >= TASKS_MAX || self.owned.len() >= TASKS_MAX {
                    self.given.clear();
                    self.owned.clear();
                }
                self.given.insert(event.pid, (event.device, event.sector));
                // Those that flush first go their own way, past every plug.
                if !event.traits.has(Traits::FLUSH) {
                    *self.owned.entry((event.pid, event.device)).or_default() += 1;
                }
            }
            Action::Plug if event.device == UNPLACED => {
                let Some((device, _)) = self.given.remove(&event.pid) else { return };
                event.device = device;
            }
            Action::Unplug if event.device == UNPLACED => {
                self.place(event.pid, None);
                self.open += 1;
                self.held.push_back(Held::Open(event));
                return self.release(out);
            }
            Action::Issue | Action::Insert => {
                self.place(event.pid, Some(event.device));
                if self.given.get(&event.pid) == Some(&(event.device, event.sector)) {
                    self.given.remove(&event.pid);
                    self.let_go(event.pid, event.device, 1);
                }
            }
            // The kernel reports a bio that is merged into a request in the same way as two requests that are
            // merged; neither can come from the task that unplugs before the first of what it lets go.
            Action::BackMerge | Action::FrontMerge => self.place(event.pid, Some(event.device)),
            Action::Queue => {
                self.given.remove(&event.pid);
                self.place(event.pid, None);
            }
            Action::Plug | Action::Unplug => {}
            // Completions happen in whatever task was interrupted.
            _ => {}
        }
        if self.held.is_empty() {
            out.push(event);
        } else {
            self.held.push_back(Held::Ready(event));
            self.release(out);
        }
    }

    /// Appends all that is left, but for unplugs that no event followed.
    pub(crate) fn finish(&mut self, out: &mut Vec<TraceEvent>) {
        out.extend(self.held.drain(..).filter_map(|held| match held {
            Held::Ready(event) => Some(event),
            Held::Open(_) | Held::Foreign => None,
        }));
        self.open = 0;
    }

    /// Settles the unplug of `pid` that waits: it is of `device`, or of none that is traced.
    fn place(&mut self, pid: u32, device: Option<DeviceNumber>) {
        if self.open == 0 {
            return;
        }
        let waits = |held: &&mut Held| matches!(held, Held::Open(event) if event.pid == pid);
        let Some(held) = self.held.iter_mut().find(waits) else { return };
        let Held::Open(event) = *held else { return };
        let count = if let Extra::Requests(count) = event.extra { count.max(1) } else { 1 };
        let owns = |device: &DeviceNumber| {
            self.owned.get(&(pid, *device)).is_some_and(|&owned| owned >= count)
        };
        let device = device.filter(owns);
        *held = device.map_or(Held::Foreign, |device| Held::Ready(TraceEvent { device, ..event }));
        self.open -= 1;
        if let Some(device) = device {
            self.let_go(pid, device, count);
        }
    }

    fn let_go(&mut self, pid: u32, device: DeviceNumber, count: u64) {
        if let Some(owned) = self.owned.get_mut(&(pid, device)) {
            *owned = owned.saturating_sub(count);
            if *owned == 0 {
                self.owned.remove(&(pid, device));
            }
        }
    }

    fn release(&mut self, out: &mut Vec<TraceEvent>) {
        while let Some(held) = self.held.front() {
            match held {
                Held::Ready(event) => out.push(*event),
                Held::Foreign => {}
                Held::Open(_) if self.held.len() <= HELD_MAX => return,
                // Its task was never heard of again.
                Held::Open(_) => self.open -= 1,
            }
            self.held.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use block::Nanos;

    use super::*;

    const OURS: DeviceNumber = DeviceNumber::new(8, 0);
    const OTHER: DeviceNumber = DeviceNumber::new(8, 16);

    fn event(time: u64, pid: u32, action: Action, device: DeviceNumber, sector: u64) -> TraceEvent {
        TraceEvent {
            time: Nanos(time),
            sector,
            bytes: 4096,
            device,
            pid,
            cpu: 0,
            sequence: 0,
            action,
            traits: Traits::NONE,
            error: 0,
            extra: Extra::None,
        }
    }

    fn told(events: &[TraceEvent]) -> Vec<(u64, Action, DeviceNumber)> {
        let (mut plugs, mut out) = (Plugs::default(), Vec::new());
        for event in events {
            plugs.take(*event, &mut out);
        }
        plugs.finish(&mut out);
        out.iter().map(|event| (event.time.0, event.action, event.device)).collect()
    }

    use Action::{GetRequest as G, Insert as I, Issue as D, Plug as P, Queue as Q, Unplug as U};

    // Breaks when a plug of one device is counted on another: shares of time plugged would be wrong.
    #[test]
    fn plugs_follow_their_request_and_unplugs_go_before_theirs() {
        let events = [
            event(1, 7, Q, OURS, 0),
            event(2, 7, G, OURS, 0),
            event(3, 7, P, UNPLACED, 0),
            event(4, 7, Q, OURS, 8),
            event(5, 7, G, OURS, 8),
            event(6, 9, Q, OTHER, 100),
            event(7, 7, U, UNPLACED, 0),
            event(8, 9, G, OTHER, 100),
            event(9, 7, I, OURS, 0),
            event(10, 7, I, OURS, 8),
            event(11, 9, P, UNPLACED, 0),
        ];
        let out = told(&events);
        assert_eq!(out.len(), events.len());
        assert!(out.is_sorted_by_key(|told| told.0), "events were put out of their order");
        assert_eq!(out[2], (3, P, OURS));
        assert_eq!(out[6], (7, U, OURS));
        assert_eq!(out[10], (11, P, OTHER));
    }

    // A plug list that is full is let go before the request that was just given begins the next one.
    #[test]
    fn a_full_plug_list_is_let_go_between_a_request_and_its_plug() {
        let events = [
            event(1, 7, G, OURS, 0),
            event(2, 7, P, UNPLACED, 0),
            event(3, 7, G, OURS, 8),
            event(4, 7, U, UNPLACED, 0),
            event(5, 7, D, OURS, 0),
            event(6, 7, P, UNPLACED, 0),
        ];
        assert_eq!(told(&events).iter().filter(|(_, action, _)| *action == P).count(), 2);
    }

    // Events of devices that are not traced are left out, and no others.
    #[test]
    fn plugs_of_others_are_left_out() {
        let events = [
            event(1, 7, P, UNPLACED, 0),
            event(2, 7, U, UNPLACED, 0),
            event(3, 7, Q, OURS, 0),
            event(4, 7, G, OURS, 0),
            event(5, 7, D, OURS, 0),
            event(6, 7, P, UNPLACED, 0),
            event(7, 7, G, OURS, 8),
            event(8, 7, U, UNPLACED, 0),
            event(9, 7, U, UNPLACED, 0),
            event(10, 7, D, OURS, 8),
            event(11, 7, U, UNPLACED, 0),
        ];
        let times: Vec<u64> = told(&events).iter().map(|told| told.0).collect();
        assert_eq!(times, [3, 4, 5, 7, 9, 10]);
    }

    // Breaks when an unplug that was found to be another's is asked again instead of the one that waits.
    #[test]
    fn an_unplug_is_placed_while_another_task_holds_up_the_stream() {
        let events = [
            event(1, 9, U, UNPLACED, 0),
            event(2, 7, U, UNPLACED, 0),
            event(3, 7, G, OURS, 0),
            event(4, 7, U, UNPLACED, 0),
            event(5, 7, D, OURS, 0),
            event(6, 9, Q, OURS, 8),
        ];
        let times: Vec<u64> = told(&events).iter().map(|told| told.0).collect();
        assert_eq!(times, [3, 4, 5, 6]);
    }

    // Breaks when a worker of the kernel, which issues what others were given, is said to unplug our device whenever
    // it unplugs another before.
    #[test]
    fn who_was_given_nothing_lets_nothing_go() {
        let requests =
            |event: TraceEvent, count| TraceEvent { extra: Extra::Requests(count), ..event };
        let events = [
            event(1, 7, G, OURS, 0),
            event(2, 7, P, UNPLACED, 0),
            event(3, 44, U, UNPLACED, 0),
            requests(event(4, 7, U, UNPLACED, 0), 1),
            event(5, 7, I, OURS, 0),
            event(6, 44, D, OURS, 0),
            event(7, 7, G, OURS, 8),
            event(8, 7, P, UNPLACED, 0),
            requests(event(9, 7, U, UNPLACED, 0), 2),
            event(10, 7, I, OURS, 8),
        ];
        let times: Vec<u64> = told(&events).iter().map(|told| told.0).collect();
        assert_eq!(times, [1, 2, 4, 5, 6, 7, 8, 10]);
    }

    // A task that unplugs and is never heard of again must not hold up the recording.
    #[test]
    fn an_unplug_without_a_sequel_holds_up_only_so_much() {
        let mut events = vec![event(0, 7, U, UNPLACED, 0)];
        events.extend((1..2 * HELD_MAX as u64).map(|time| event(time, 9, Q, OURS, time)));
        let (mut plugs, mut out) = (Plugs::default(), Vec::new());
        for event in &events {
            plugs.take(*event, &mut out);
            assert!(plugs.held.len() <= HELD_MAX + 1);
        }
        plugs.finish(&mut out);
        assert_eq!(out.len(), events.len() - 1);
    }
}
