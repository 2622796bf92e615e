use std::net::IpAddr;

use attache_answers::request::{Receiver, RequestQuery, request};
use attache_answers::{QueryError, first_of};
use attache_engine::Problem;
use attache_engine::request::{Request, RequestOutcome};
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::request::write_request;
use crate::verdict::Verdict;

/// Predict which gateway, listener, route, rule and backends serve a request, and which policies apply to it
///
/// Follows the matching and precedence rules of the Gateway API; nothing is sent. The status is what the client gets if
/// the backends are healthy. Without `--gateway`, every Gateway is considered. For a request within a mesh, name the
/// Service with `--service`, or as the host: `http://cakes.baker.svc:8080`.
///
/// Exit code 1 if nothing serves the request, and 2 if that depends on a filter of an unknown kind.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache request GET http://cakes.bakery.example/menu -f manifests/
  attache request POST https://shop.example/orders -H 'X-Beta: yes' --why -f manifests/
  attache request POST http://shop.example/shop.Orders/Place --grpc -f manifests/
  attache request GET tls://db.example:5432 -o json -f manifests/
  attache request GET http://cakes:8080/menu --service baker/cakes --from-namespace shop -f manifests/")]
pub struct RequestCommand {
    /// GET, POST, OPTIONS…
    #[arg(value_name = "METHOD")]
    method: String,
    /// http://, https://, tls://, tcp:// or udp://
    #[arg(value_name = "URL")]
    url: String,
    /// A header of the request, 'Name: value'; can be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The Gateway that receives the request
    #[arg(long, value_name = "NS/NAME", conflicts_with_all = ["service", "address"])]
    gateway: Option<String>,
    /// The address that the request is sent to: only Gateways with this address are considered
    #[arg(long, value_name = "IP", conflicts_with = "service")]
    address: Option<IpAddr>,
    /// The Service that a client within the mesh calls
    #[arg(long, value_name = "NS/NAME")]
    service: Option<String>,
    /// The namespace of the client, for requests within a mesh
    #[arg(long, value_name = "NS")]
    from_namespace: Option<String>,
    /// The request is a gRPC call: the path of the URL is /SERVICE/METHOD
    #[arg(long)]
    grpc: bool,
    /// The server name (SNI) of the TLS connection, if it is not the host
    #[arg(long, value_name = "HOST")]
    sni: Option<String>,
    /// Explain why other listeners, routes and rules do not serve the request
    #[arg(long)]
    why: bool,
    /// Output format; `wide` shortens nothing
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<RequestFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RequestFormat {
    Wide,
    Yaml,
    Json,
}

/// The number of names, lost values and reasons that are shown before the rest is only counted.
const MOST: usize = 6;

impl RequestCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let query = self.query(global)?;
        let input = Input::read(global, screen)?;
        let document = request(&input.snapshot, &query).map_err(with_options)?;
        match self.output {
            Some(RequestFormat::Json) => screen.json(&document)?,
            Some(RequestFormat::Yaml) => screen.yaml(&document)?,
            None | Some(RequestFormat::Wide) => write_request(&document, self.most(), screen)?,
        }
        let verdict = match document.outcome {
            RequestOutcome::Unknown => Verdict::Incomplete,
            outcome if outcome.is_served() => Verdict::Fine,
            _ => Verdict::No,
        };
        Ok(verdict.max(input.verdict()))
    }

    fn query(&self, global: &Global) -> Result<RequestQuery, Failure> {
        let mut request = Request::parse(&self.method, &self.url)?;
        for header in &self.headers {
            request.add_header(header)?;
        }
        request.grpc = self.grpc;
        request.from = self.from_namespace.clone();
        if let Some(sni) = &self.sni {
            request.sni = Some(sni.trim_end_matches('.').to_lowercase());
        }
        let receiver = match (&self.service, &self.gateway, self.address) {
            (Some(service), ..) => Receiver::Service(service.clone()),
            (None, Some(gateway), _) => Receiver::Gateway(gateway.clone()),
            (None, None, Some(address)) => Receiver::Address(address),
            (None, None, None) => Receiver::Any,
        };
        let namespace = global.namespace.clone();
        Ok(RequestQuery { request, receiver, namespace, why: self.why, names: self.most() })
    }

    fn most(&self) -> usize {
        if self.output == Some(RequestFormat::Wide) { usize::MAX } else { MOST }
    }
}

/// An error with the options that help.
fn with_options(error: QueryError) -> Failure {
    let help = match &error {
        QueryError::SeveralGateways { gateways, .. } => {
            let options = gateways.iter().map(|it| format!("--gateway {}/{}", it.namespace, it.name));
            Some(format!("choose one: {}", first_of(options, 5)))
        }
        QueryError::UnknownAddress { known, .. } if known.is_empty() => {
            Some("no gateway of the input has an address, in its spec or its status: use `--gateway`".to_owned())
        }
        _ => None,
    };
    let problem = Problem::from(error);
    match help {
        Some(help) => problem.help(help).into(),
        None => problem.into(),
    }
}
