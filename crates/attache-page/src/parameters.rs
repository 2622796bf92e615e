//! The parameters of a request: its query, or the fields of a form.

/// The parameters of a request, in the order in which they are given.
#[derive(Clone, Debug, Default)]
pub struct Parameters(pub Vec<(String, String)>);

impl Parameters {
    /// The first value of a parameter. An empty one counts as missing.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(key, value)| key == name && !value.is_empty());
        values.next().map(|(_, value)| value.as_str())
    }

    /// All values of a parameter that are not empty.
    pub fn all<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is given, with any value.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// A number, or a default.
    pub fn number(&self, name: &str, otherwise: usize) -> usize {
        self.get(name).and_then(|value| value.parse().ok()).unwrap_or(otherwise)
    }
}
