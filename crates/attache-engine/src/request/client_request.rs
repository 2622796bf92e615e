//! A request as the client sends it.

use std::net::IpAddr;

use crate::problem::Problem;

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// Any protocol over TLS.
    Tls,
    /// A TCP connection.
    Tcp,
    /// UDP packets.
    Udp,
}

impl Scheme {
    const ALL: [Scheme; 5] = [Scheme::Http, Scheme::Https, Scheme::Tls, Scheme::Tcp, Scheme::Udp];

    /// The scheme as it is written in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Tls => "tls",
            Scheme::Tcp => "tcp",
            Scheme::Udp => "udp",
        }
    }

    /// The port of URLs that name none.
    pub fn port(self) -> Option<u16> {
        match self {
            Scheme::Http => Some(80),
            Scheme::Https | Scheme::Tls => Some(443),
            Scheme::Tcp | Scheme::Udp => None,
        }
    }

    /// Whether the response has an HTTP status.
    pub fn is_http(self) -> bool {
        matches!(self, Scheme::Http | Scheme::Https)
    }
}

/// A request as the client sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The HTTP method, in upper case.
    pub method: String,
    /// The scheme of the URL.
    pub scheme: Scheme,
    /// The `Host` header: lowercase, without the port.
    pub host: String,
    /// The port that the client connects to.
    pub port: u16,
    /// The path, neither decoded nor normalized.
    pub path: String,
    /// The query after the `?`, not decoded.
    pub query: Option<String>,
    /// The headers in the order in which they are sent, without `Host`.
    pub headers: Vec<(String, String)>,
    /// Whether this is a gRPC call.
    pub grpc: bool,
    /// The server name (SNI) of a TLS connection, lowercase. There is none for an IP address.
    pub sni: Option<String>,
    /// The namespace of the client, for requests in a mesh.
    pub from: Option<String>,
}

impl Request {
    /// Reads a method and a URL.
    pub fn parse(method: &str, url: &str) -> Result<Request, Problem> {
        if method.contains("://") {
            let help = format!("the method comes first: GET {method}");
            return Err(Problem::error(format!("`{method}` is not a method")).help(help));
        }
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)) {
            let help = "write one word, such as GET, POST or OPTIONS";
            return Err(Problem::error(format!("`{method}` is not a method")).help(help));
        }
        let (scheme, rest) = scheme(url)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = host_and_port(authority).map_err(|message| not_a_url(url, &message))?;
        let port = port.or(scheme.port()).ok_or_else(|| {
            not_a_url(url, "it has no port").help(format!("write {}://{authority}:PORT", scheme.name()))
        })?;
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        if target.contains(char::is_whitespace) {
            return Err(not_a_url(url, "it contains a space").help("write a space as %20"));
        }
        Ok(Request {
            method: method.to_ascii_uppercase(),
            scheme,
            sni: Some(host.clone()).filter(|host| host.parse::<IpAddr>().is_err()),
            host,
            port,
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            query,
            headers: Vec::new(),
            grpc: false,
            from: None,
        })
    }

    /// Adds a header, written `name: value`. `Host` replaces the host of the URL.
    pub fn add_header(&mut self, line: &str) -> Result<(), Problem> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let (name, value) = (name.trim(), value.trim());
        if !line.contains(':') || name.is_empty() || name.contains(char::is_whitespace) {
            return Err(Problem::error(format!("`{line}` is not a header")).help("write 'Name: value'"));
        }
        if name.eq_ignore_ascii_case("host") {
            (self.host, _) = host_and_port(value)
                .map_err(|message| Problem::error(format!("`{value}` is not a host: {message}")))?;
        } else {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }

    /// The value of a header. If it is sent several times, all values, separated by commas.
    pub fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    /// The first value of a query parameter.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = self.query.as_deref()?.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(own, _)| decoded(own) == name).map(|(_, value)| decoded(value))
    }

    /// The names of the query parameters.
    pub fn parameters(&self) -> impl Iterator<Item = String> {
        let pairs = self.query.as_deref().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| decoded(pair.split('=').next().unwrap_or_default()))
    }

    /// The URL of the request.
    pub fn url(&self) -> String {
        let Request { scheme, host, port, path, query, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let port = if scheme.port() == Some(*port) { String::new() } else { format!(":{port}") };
        let path = if scheme.is_http() { path } else { "" };
        let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}://{host}{port}{path}{query}", scheme.name())
    }
}

fn scheme(url: &str) -> Result<(Scheme, &str), Problem> {
    let Some((scheme, rest)) = url.split_once("://") else {
        let problem = not_a_url(url, "it has no scheme");
        return Err(if url.starts_with('/') {
            problem.help(format!("write http://HOST{url}"))
        } else {
            problem.help(format!("did you mean `http://{url}`?"))
        });
    };
    match Scheme::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(scheme)) {
        Some(scheme) => Ok((scheme, rest)),
        None => {
            let problem = not_a_url(url, &format!("unknown scheme `{scheme}`"));
            Err(problem.help("use http or https (also for gRPC), tls, tcp or udp"))
        }
    }
}

fn not_a_url(url: &str, message: &str) -> Problem {
    Problem::error(format!("`{url}` is not a valid URL: {message}"))
}

/// `host`, `host:port`, `[::1]:port`.
fn host_and_port(authority: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() {
        return Err("it has no host".to_owned());
    }
    if let Some(wrong) = host.chars().find(|char| !(char.is_alphanumeric() || "-._:".contains(*char))) {
        return Err(format!("a host cannot contain `{wrong}`"));
    }
    let port = match port {
        None | Some("") => None,
        Some(port) => {
            let number = port.parse::<u16>().ok().filter(|number| *number > 0);
            Some(number.ok_or_else(|| format!("`{port}` is not a port"))?)
        }
    };
    Ok((host.trim_end_matches('.').to_lowercase(), port))
}

/// Decodes `%20` and `+`.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_clients_read_them() {
        for (url, host, port, path) in [
            ("http://Shop.example", "shop.example", 80, "/"),
            ("https://shop.example./a%20b?x=1#top", "shop.example", 443, "/a%20b"),
            ("HTTP://shop.example:8080?x", "shop.example", 8080, "/"),
            ("http://[::1]:81/x", "::1", 81, "/x"),
            ("tls://shop.example", "shop.example", 443, "/"),
            ("udp://10.0.0.1:53", "10.0.0.1", 53, "/"),
        ] {
            let request = Request::parse("get", url).unwrap();
            assert_eq!((request.host.as_str(), request.port, request.path.as_str()), (host, port, path), "{url}");
        }
    }

    #[test]
    fn invalid_input_is_refused_with_help() {
        for (method, url, message) in [
            ("http://x", "/", "`http://x` is not a method"),
            ("G T", "http://x", "`G T` is not a method"),
            ("GET", "shop.example/x", "did you mean `http://shop.example/x`?"),
            ("GET", "/x", "write http://HOST/x"),
            ("GET", "ftp://x", "unknown scheme `ftp`"),
            ("GET", "http://", "it has no host"),
            ("GET", "http://x:0", "`0` is not a port"),
            ("GET", "http://x:port", "`port` is not a port"),
            ("GET", "http://a b/", "a host cannot contain ` `"),
            ("GET", "http://me@x/", "a host cannot contain `@`"),
            ("GET", "http://x/a b", "write a space as %20"),
            ("GET", "tcp://x", "write tcp://x:PORT"),
        ] {
            let problem = Request::parse(method, url).unwrap_err().to_string();
            assert!(problem.contains(message), "{problem}");
        }
        assert!(Request::parse("GET", "http://x").unwrap().add_header("no colon").is_err());
    }

    #[test]
    fn query_parameters_are_decoded_and_the_first_value_counts() {
        let request = Request::parse("GET", "http://x/?a=1%2F2&a=3&b+c&%zz=+").unwrap();
        assert_eq!(request.parameter("a").as_deref(), Some("1/2"));
        assert_eq!(request.parameter("b c").as_deref(), Some(""));
        assert_eq!(request.parameter("%zz").as_deref(), Some(" "));
        assert_eq!(request.parameter("A"), None);
    }

    #[test]
    fn header_names_ignore_case_and_host_replaces_that_of_the_url() {
        let mut request = Request::parse("GET", "http://x").unwrap();
        for line in ["X-A: 1", "x-a:2", "Host: Other.example:90"] {
            request.add_header(line).unwrap();
        }
        assert_eq!(request.header("x-A").as_deref(), Some("1,2"));
        assert_eq!((request.host.as_str(), request.port), ("other.example", 80));
    }
}
