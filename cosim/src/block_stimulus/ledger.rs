//! The books of kernels: each CTA is placed once, in order as far as one port goes, ends once, and none is missing where the kernel is done.

/// One account per key: a kernel's id, or its slot.
#[derive(Debug)]
pub(super) struct Ledger {
    /// CTAs of a kernel that are placed at the same time: they may be taken in any order.
    places: usize,
    accounts: Vec<Option<Account>>,
    /// The first thing that was wrong.
    fault: Option<String>,
    open: usize,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    grid: u32,
    placed: u32,
    ended: u32,
    /// Bit i: the CTA i after the first that was not placed was; bit 0 is clear.
    early: u8,
}

impl Account {
    /// Whether this CTA was to be placed now.
    fn place(&mut self, index: u32, places: usize) -> bool {
        let first = self.placed - self.early.count_ones();
        let ahead = index.wrapping_sub(first);
        let right = index < self.grid && ahead < places as u32 && self.early >> ahead & 1 == 0;
        if right {
            self.early |= 1 << ahead;
            self.early >>= self.early.trailing_ones();
        }
        self.placed = self.placed.wrapping_add(1);
        right
    }
}

impl Ledger {
    /// For keys below `keys`, of whose CTAs `places` are placed at the same time.
    pub fn new(keys: usize, places: usize) -> Self {
        Self { places, accounts: vec![None; keys], fault: None, open: 0 }
    }

    /// What was wrong first.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Notes what is wrong, but keeps what was wrong first.
    pub fn report(&mut self, fault: impl FnOnce() -> String) {
        self.fault.get_or_insert_with(fault);
    }

    /// Kernels that are neither done nor swept away.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Whether this kernel is one of them.
    pub fn is_open(&self, key: u8) -> bool {
        self.accounts.get(usize::from(key)).is_some_and(Option::is_some)
    }

    /// Kernels with a grid of `least` or more.
    pub fn open_from(&self, least: u32) -> usize {
        self.accounts.iter().flatten().filter(|account| account.grid >= least).count()
    }

    /// A reset sweeps all away.
    pub fn clear(&mut self) {
        self.accounts.fill(None);
        self.open = 0;
    }

    /// A kernel comes.
    pub fn come(&mut self, key: u8, grid: u32) {
        let account = Account { grid, placed: 0, ended: 0, early: 0 };
        if self.accounts[usize::from(key)].replace(account).is_some() {
            self.report(|| format!("kernel {key} comes while one of this name is there"));
        } else {
            self.open += 1;
        }
    }

    /// The CTA with this number is placed.
    pub fn place(&mut self, key: u8, index: u32) {
        let places = self.places;
        self.change(key, "a CTA is placed", |account| account.place(index, places));
    }

    /// All CTAs are handed on at once, to one who counts them.
    pub fn place_all(&mut self, key: u8, grid: u32) {
        self.change(key, "its grid is handed on", |account| {
            let right = account.placed == 0 && account.grid == grid;
            account.placed = grid;
            right
        });
    }

    /// A CTA that was placed ends.
    pub fn end(&mut self, key: u8) {
        self.change(key, "a CTA ends", |account| {
            account.ended = account.ended.wrapping_add(1);
            account.ended <= account.placed
        });
    }

    /// Whether all CTAs are placed.
    pub fn is_placed(&self, key: u8) -> bool {
        self.accounts[usize::from(key)].is_some_and(|account| account.placed == account.grid)
    }

    /// The kernel is done, its CTAs all placed and all ended.
    pub fn done(&mut self, key: u8) {
        self.change(key, "it is done", |account| {
            account.placed == account.grid && account.ended == account.grid
        });
        self.open -= usize::from(self.accounts[usize::from(key)].take().is_some());
    }

    fn change(&mut self, key: u8, what: &str, change: impl FnOnce(&mut Account) -> bool) {
        let fault = match self.accounts.get_mut(usize::from(key)).and_then(Option::as_mut) {
            None => Some(format!("kernel {key}, which is not there: {what}")),
            Some(account) => {
                let before = *account;
                let Account { grid, placed, ended, .. } = before;
                let text = || {
                    format!(
                        "kernel {key}: {what} after {placed} of {grid} CTAs were placed and {ended} had ended"
                    )
                };
                (!change(account)).then(text)
            }
        };
        if let Some(fault) = fault {
            self.report(|| fault);
        }
    }
}
