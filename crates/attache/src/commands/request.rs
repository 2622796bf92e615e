use std::net::IpAddr;

use attache_answers::Snapshot;
use attache_engine::names::nearest;
use attache_engine::object::Object;
use attache_engine::problem::Problem;
use attache_engine::request::{
    self, Entrance, RequestTrace, SeveralGateways, effective, service_named, trace, trace_any_gateway,
};
use attache_engine::topology::{Level, NodeId};
use attache_engine::value::Value;
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::{Input, target};
use crate::render::Screen;
use crate::render::request::RequestView;
use crate::verdict::Verdict;
use attache_answers::request::request_trace;
use attache_answers::{did_you_mean, listed};

/// Predict which gateway, listener, route, rule and backends serve a request, and the policies on that way
///
/// By the matching and precedence rules of the Gateway API; nothing is sent. The status is the one that the client gets
/// if the backends are well. Without `--gateway`, every gateway that listens is looked at. For a request within a mesh,
/// name the Service that is called, or write it as the host: http://cakes.baker.svc:8080.
///
/// Exit code 1 if nobody serves the request.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache request GET http://cakes.bakery.example/menu -f manifests/
  attache request POST https://shop.example/orders -H 'X-Beta: yes' --why -f manifests/
  attache request POST http://shop.example/shop.Orders/Place --grpc -f manifests/
  attache request GET tls://db.example:5432 -o json -f manifests/
  attache request GET http://cakes:8080/menu --service baker/cakes --from-namespace shop -f manifests/")]
pub struct Request {
    /// GET, POST, OPTIONS…
    #[arg(value_name = "METHOD")]
    method: String,
    /// http://, https://, tls://, tcp:// or udp://
    #[arg(value_name = "URL")]
    url: String,
    /// A header of the request, 'Name: value'; can be given many times
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The gateway that is asked
    #[arg(long, value_name = "NS/NAME", conflicts_with_all = ["service", "address"])]
    gateway: Option<String>,
    /// The address to which the request is sent: only gateways that have it are asked
    #[arg(long, value_name = "IP", conflicts_with = "service")]
    address: Option<IpAddr>,
    /// The Service that a client within the mesh calls
    #[arg(long, value_name = "NS/NAME")]
    service: Option<String>,
    /// The namespace of the client, for requests within a mesh
    #[arg(long, value_name = "NS")]
    from_namespace: Option<String>,
    /// It is a gRPC call: the path of the URL is /SERVICE/METHOD
    #[arg(long)]
    grpc: bool,
    /// The name that the client asks for when it makes a TLS connection, if it is not the host
    #[arg(long, value_name = "HOST")]
    sni: Option<String>,
    /// Say of all other listeners, routes and rules why they do not serve the request
    #[arg(long)]
    why: bool,
    /// How to show it; `wide` cuts nothing
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Wide,
    Yaml,
    Json,
}

/// How many names, lost values and reasons are shown before the rest is only counted.
const MOST: usize = 6;

impl Request {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let request = self.request()?;
        let Input { snapshot: input, verdict } = Input::read(global, screen)?;
        let trace = self.trace(&input, &request, global)?;
        let effective = effective(&input.engine, &request, &trace);
        let document = || request_trace(&input, &request, &trace, &effective, self.why);
        match self.output {
            Some(Format::Json) => screen.json(&document())?,
            Some(Format::Yaml) => screen.yaml(&document())?,
            None | Some(Format::Wide) => {
                let most = if self.output.is_none() { MOST } else { usize::MAX };
                let view = RequestView { input: &input, request: &request, most };
                view.write(&trace, &effective, self.why, screen)?;
            }
        }
        Ok(if trace.outcome.is_served() { verdict } else { Verdict::No })
    }

    fn request(&self) -> Result<request::Request, Failure> {
        let mut request = request::Request::parse(&self.method, &self.url)?;
        for header in &self.headers {
            request.add_header(header)?;
        }
        request.grpc = self.grpc;
        request.from = self.from_namespace.clone();
        if let Some(sni) = &self.sni {
            request.sni = Some(sni.trim_end_matches('.').to_lowercase());
        }
        Ok(request)
    }

    fn trace<'e>(
        &self,
        input: &'e Snapshot,
        request: &request::Request,
        global: &Global,
    ) -> Result<RequestTrace<'e>, Failure> {
        let view = input.engine.view();
        let service = match &self.service {
            Some(service) => Some(find(input, "service.", service, global)?),
            None if self.gateway.is_some() || self.address.is_some() => None,
            None => service_named(view, &request.host, self.from_namespace.as_deref()),
        };
        if let Some(service) = service {
            return Ok(trace(view, request, Entrance::Service(service), self.why));
        }
        if let Some(gateway) = &self.gateway {
            let gateway = find(input, "gateway.gateway.networking.k8s.io", gateway, global)?;
            return Ok(trace(view, request, Entrance::Gateway(gateway), self.why));
        }
        let gateways = match self.address {
            Some(address) => at_address(input, address)?,
            None => gateways(input).map(|(node, _)| node).collect(),
        };
        trace_any_gateway(view, request, gateways.into_iter(), self.why).map_err(|SeveralGateways(gateways)| {
            let message = format!("{} Gateways have a route for {}", gateways.len(), request.url());
            let choices = gateways.iter().map(|gateway| format!("--gateway {}", argument(input, *gateway)));
            Problem::error(message).help(format!("say which is asked: {}", listed(choices, 5))).into()
        })
    }
}

/// The object that an option names, `NS/NAME` or with the kind before it.
fn find(input: &Snapshot, kind: &str, name: &str, global: &Global) -> Result<NodeId, Failure> {
    let name = match name.matches('/').count() {
        2 => name.split_once('/').map_or(name, |(_, rest)| rest),
        _ => name,
    };
    let (target, _) = target(input, &[format!("{kind}/{name}")], global)?;
    let found = input.engine.topology().find(input.engine.objects(), &target.id);
    found.ok_or_else(|| Problem::error(format!("{} is not in the input", target.id)).into())
}

fn gateways(input: &Snapshot) -> impl Iterator<Item = (NodeId, &Object)> {
    let nodes = input.engine.topology().nodes().filter(|(_, node)| node.level == Level::Gateway);
    nodes.filter_map(|(id, node)| Some((id, &input.engine.objects()[node.owner.object()?])))
}

/// The addresses that a gateway asks for, and those that it got.
fn addresses(gateway: &Object) -> impl Iterator<Item = &str> {
    let lists =
        [gateway.spec(), gateway.body.get("status").unwrap_or(&Value::Null)].map(|part| part.list_at("addresses"));
    lists.into_iter().flatten().filter_map(|address| address.get_str("value"))
}

fn at_address(input: &Snapshot, wanted: IpAddr) -> Result<Vec<NodeId>, Failure> {
    let has = |gateway: &Object| addresses(gateway).any(|address| address.parse() == Ok(wanted));
    let found: Vec<NodeId> = gateways(input).filter(|(_, gateway)| has(gateway)).map(|(node, _)| node).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut known: Vec<&str> = gateways(input).flat_map(|(_, gateway)| addresses(gateway)).collect();
    known.sort_unstable();
    known.dedup();
    let near = nearest(&wanted.to_string(), known.iter().copied());
    let help = match (known.is_empty(), near.is_empty()) {
        (true, _) => "no gateway of the input has an address, in its spec or its status: use `--gateway`".to_owned(),
        (false, true) => format!("there are {}", listed(known, 5)),
        (false, false) => did_you_mean(near),
    };
    Err(Problem::error(format!("no gateway has the address `{wanted}`")).help(help).into())
}

/// A gateway as `--gateway` takes it.
fn argument(input: &Snapshot, gateway: NodeId) -> String {
    let id = input.engine.topology().id(input.engine.objects(), gateway);
    format!("{}/{}", id.namespace, id.name)
}
