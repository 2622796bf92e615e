//! A control plane that belongs to one test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::certificates::{Certificates, Identity, Signer, Subject};
use crate::crds::Crds;
use crate::http::Credentials;
use crate::ports::Port;
use crate::processes::{Server, Watchdog};
use crate::programs::cache_folder;
use crate::{HttpClient, Programs, TestEnvError, TestUser, template, unless_left_out};

/// The maximum time until an API server is ready: on an idle machine it takes 3 seconds, on a busy one much longer, and
/// after a longer outage of etcd up to half a minute.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server that can be killed and restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The store.
    Etcd,
    /// The Kubernetes API server.
    ApiServer,
}

/// Options of a cluster.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    controllers: bool,
    gateway_api: bool,
    flags: Vec<String>,
}

impl Default for ClusterOptions {
    fn default() -> ClusterOptions {
        ClusterOptions { controllers: false, gateway_api: true, flags: Vec::new() }
    }
}

impl ClusterOptions {
    /// With the CRDs of the Gateway API, without controllers.
    pub fn new() -> ClusterOptions {
        ClusterOptions::default()
    }

    /// Runs controllers. Without them namespaces are never deleted completely, aggregated ClusterRoles are empty, and
    /// there are no default ServiceAccounts.
    pub fn with_controllers(mut self) -> ClusterOptions {
        self.controllers = true;
        self
    }

    /// Leaves the CRDs of the Gateway API out.
    pub fn without_gateway_api(mut self) -> ClusterOptions {
        self.gateway_api = false;
        self
    }

    /// Adds a flag to the arguments of kube-apiserver.
    pub fn apiserver_flag(mut self, flag: &str) -> ClusterOptions {
        self.flags.push(flag.into());
        self
    }

    /// Starts the cluster. `None` if the programs are not available on this machine, and this is not CI.
    pub fn start(&self) -> Option<TestCluster> {
        unless_left_out(self.try_start(), "a test against a real API server")
    }

    /// Starts the cluster and waits until it is ready.
    pub fn try_start(&self) -> Result<TestCluster, TestEnvError> {
        TestCluster::new(self)
    }
}

/// A control plane that belongs to one test: its processes end and its folder is removed when this value is dropped, or
/// when the test process ends.
#[derive(Debug)]
pub struct TestCluster {
    // Dropped in this order: the servers by `Drop`, then the watchdog, which removes the folder if it still exists.
    watchdog: Watchdog,
    etcd: Server,
    apiserver: Server,
    controllers: Option<Server>,
    programs: Programs,
    certificates: Certificates,
    url: String,
    admin: TestUser,
    folder: TempDir,
    _ports: [Port; 2],
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificates").finish_non_exhaustive()
    }
}

impl TestCluster {
    /// Starts a cluster with the CRDs of the Gateway API and without controllers. `None` if the programs are not
    /// available on this machine, and this is not CI.
    pub fn start() -> Option<TestCluster> {
        ClusterOptions::new().start()
    }

    fn new(options: &ClusterOptions) -> Result<TestCluster, TestEnvError> {
        let programs = Programs::find_or_build()?;
        let controllers = match &programs.controllers {
            _ if !options.controllers => None,
            Some(controllers) => Some(controllers),
            None => {
                let why =
                    "there are no controllers beside the installed programs: unset KUBEBUILDER_ASSETS to build them";
                return Err(TestEnvError::Unavailable(why.into()));
            }
        };
        let failed = |error: std::io::Error| TestEnvError::failed("cannot create a folder for the cluster", error);
        let folder = tempfile::Builder::new().prefix("attache-testenv-").tempdir().map_err(failed)?;
        if options.gateway_api {
            let template = template::find_or_make(&programs)?;
            template::copy(&template, &folder.path().join("etcd")).map_err(failed)?;
        }
        let certificates = Certificates::create(&folder.path().join("certificates"))?;
        let ports = [Port::reserve()?, Port::reserve()?];
        let [etcd_port, port] = [&ports[0], &ports[1]].map(|port| port.number);
        let url = format!("https://127.0.0.1:{port}");
        let admin_identity = certificates.identity("admin");
        let authority = certificates.authority();
        let admin = TestUser::with_certificate("admin", folder.path(), &url, &authority, &admin_identity)?;
        let log = |name: &str| folder.path().join(format!("{name}.log"));
        let etcd = Server::new(&programs.etcd, etcd_arguments(folder.path(), etcd_port), log("etcd"));
        let mut arguments = apiserver_arguments(&certificates, port, etcd_port);
        if controllers.is_none() {
            // It refuses Pods without a default ServiceAccount, which a controller creates.
            arguments.push("--disable-admission-plugins=ServiceAccount".into());
        }
        arguments.extend(options.flags.iter().cloned());
        let apiserver = Server::new(&programs.kube_apiserver, arguments, log("kube-apiserver"));
        let controllers = controllers.map(|program| {
            let file = |option: &str, path: &Path| format!("--{option}={}", path.display());
            let arguments = vec![file("kubeconfig", &admin.kubeconfig), file("root-ca-file", &authority)];
            Server::new(program, arguments, log("kube-controllers"))
        });
        let watchdog = Watchdog::start(folder.path())?;
        let mut cluster = TestCluster {
            watchdog,
            etcd,
            apiserver,
            controllers,
            programs,
            certificates,
            url,
            admin,
            folder,
            _ports: ports,
        };
        cluster.etcd.start(&cluster.watchdog)?;
        cluster.apiserver.start(&cluster.watchdog)?;
        cluster.wait_until_ready()?;
        if let Some(controllers) = &mut cluster.controllers {
            controllers.start(&cluster.watchdog)?;
        }
        Ok(cluster)
    }

    /// The address of the API server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder of the cluster, with logs, certificates and kubeconfigs. A test may put files there.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The certificate of the authority that signed the API server's.
    pub fn authority(&self) -> PathBuf {
        self.certificates.authority()
    }

    /// The kubeconfig of a cluster administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.admin.kubeconfig
    }

    /// A client for a cluster administrator.
    pub fn http(&self) -> &HttpClient {
        self.admin.http()
    }

    /// A separate client for a cluster administrator, which shares no connections with others.
    pub fn fresh_http(&self) -> HttpClient {
        let identity = self.certificates.identity("admin");
        HttpClient::new(&self.url, &self.authority(), Credentials::Certificate(&identity))
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The programs that the cluster runs.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Runs kubectl as a cluster administrator, and returns what it prints. Panics if it fails.
    #[track_caller]
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.repeat_kubectl(arguments, "").unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs kubectl as a cluster administrator, and returns what it prints.
    pub fn try_kubectl(&self, arguments: &[&str]) -> Result<String, TestEnvError> {
        self.run_kubectl(arguments, "")
    }

    /// Applies manifests, server-side. Panics if that fails.
    #[track_caller]
    pub fn apply(&self, manifests: &str) {
        let arguments = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        self.repeat_kubectl(&arguments, manifests).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Installs CRDs, and waits until their kinds are served.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub fn install_crds(&self, crds: Crds) {
        let folder = cache_folder().and_then(|cache| crds.find_or_download(&cache));
        let folder = folder.unwrap_or_else(|error| panic!("{error}"));
        self.kubectl(&["apply", "--server-side", "-f", &folder.to_string_lossy()]);
        self.wait_until_served();
    }

    /// Runs kubectl again while the API server cannot reach the server of an aggregated API, which it finds out at intervals.
    fn repeat_kubectl(&self, arguments: &[&str], input: &str) -> Result<String, TestEnvError> {
        let start = Instant::now();
        loop {
            match self.run_kubectl(arguments, input) {
                Err(TestEnvError::Failed(message))
                    if message.contains("(ServiceUnavailable)") && start.elapsed() < PATIENCE =>
                {
                    std::thread::sleep(Duration::from_millis(200));
                }
                ended => return ended,
            }
        }
    }

    fn run_kubectl(&self, arguments: &[&str], input: &str) -> Result<String, TestEnvError> {
        let failed =
            |error: &dyn std::fmt::Display| TestEnvError::failed(&format!("kubectl {}", arguments.join(" ")), error);
        let mut kubectl = Command::new(&self.programs.kubectl);
        kubectl.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments);
        // Discovery is cached by the server's address, and ports are used again by other clusters.
        kubectl.arg("--cache-dir").arg(self.folder().join("kubectl-cache"));
        kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = kubectl.spawn().map_err(|error| failed(&error))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).map_err(|error| failed(&error))?;
        }
        let output = child.wait_with_output().map_err(|error| failed(&error))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(failed(&String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Kills a server with SIGKILL, so that it cannot shut down cleanly.
    pub fn kill(&mut self, component: Component) {
        let watchdog = &self.watchdog;
        match component {
            Component::Etcd => self.etcd.kill(watchdog),
            Component::ApiServer => self.apiserver.kill(watchdog),
        }
    }

    /// Starts a server that was killed, with the same port and data, and waits until the cluster is ready. Panics if it
    /// does not become ready.
    pub fn start_again(&mut self, component: Component) {
        let started = match component {
            Component::Etcd => self.etcd.start(&self.watchdog),
            Component::ApiServer => self.apiserver.start(&self.watchdog),
        };
        started.and_then(|()| self.wait_until_ready()).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Kills a server and starts it again.
    pub fn restart(&mut self, component: Component) {
        self.kill(component);
        self.start_again(component);
    }

    /// Pauses a server until [`TestCluster::resume`]: connections stay open, but get no response.
    pub fn pause(&self, component: Component) {
        self.server(component).signal("STOP");
    }

    /// Resumes a paused server.
    pub fn resume(&self, component: Component) {
        self.server(component).signal("CONT");
    }

    fn server(&self, component: Component) -> &Server {
        match component {
            Component::Etcd => &self.etcd,
            Component::ApiServer => &self.apiserver,
        }
    }

    pub(crate) fn stop_servers(&mut self) {
        if let Some(controllers) = &mut self.controllers {
            controllers.kill(&self.watchdog);
        }
        self.apiserver.kill(&self.watchdog);
        self.etcd.kill(&self.watchdog);
    }

    pub(crate) fn sign_user(&self, name: &str, group: Option<&str>, expired: bool) -> Result<Identity, TestEnvError> {
        self.certificates.sign(
            Signer::Cluster,
            &format!("user-{name}"),
            &Subject::Client { user: name, group, expired },
        )
    }

    /// A folder with `tls.crt`, `tls.key` and `ca.crt` of a server with these names. Panics if it cannot be written.
    pub fn server_certificate(&self, names: &[&str]) -> PathBuf {
        let folder = self.folder().join("server");
        let identity = self.certificates.sign(Signer::Cluster, "server", &Subject::Server { names });
        let identity = identity.unwrap_or_else(|error| panic!("{error}"));
        let copied = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::copy(&identity.certificate, folder.join("tls.crt")))
            .and_then(|_| std::fs::copy(&identity.key, folder.join("tls.key")))
            .and_then(|_| std::fs::copy(self.authority(), folder.join("ca.crt")));
        copied.unwrap_or_else(|error| panic!("cannot write a certificate: {error}"));
        folder
    }

    /// A client of another server, with a certificate of this name by the authority of the users, or by that of the front
    /// proxy. Panics if that fails.
    pub fn client_of(&self, url: &str, name: &str, by_front_proxy: bool) -> HttpClient {
        let signer = if by_front_proxy { Signer::FrontProxy } else { Signer::Cluster };
        let subject = Subject::Client { user: name, group: None, expired: false };
        let identity = self.certificates.sign(signer, &format!("client-{name}"), &subject);
        let client = identity.and_then(|it| HttpClient::new(url, &self.authority(), Credentials::Certificate(&it)));
        client.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Replaces the authority and the certificate of the front proxy. The API server takes both from their files while it
    /// runs. Panics if that fails.
    pub fn rotate_front_proxy(&mut self) {
        self.certificates.rotate_front_proxy().unwrap_or_else(|error| panic!("{error}"));
    }

    fn wait_until_ready(&mut self) -> Result<(), TestEnvError> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            match self.admin.http().get("/readyz") {
                // Ready, but not all kinds may be served yet.
                Ok(response) if response.status == 200 => return self.try_wait_until_served(),
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
            if let Some(why) = self.etcd.unexpected_end().or_else(|| self.apiserver.unexpected_end()) {
                return Err(TestEnvError::Failed(why));
            }
        }
        Err(TestEnvError::Failed(format!("the API server is not ready after {} seconds", PATIENCE.as_secs())))
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        self.stop_servers();
    }
}

fn etcd_arguments(folder: &Path, port: u16) -> Vec<String> {
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls=http://127.0.0.1:{port}"),
        format!("--advertise-client-urls=http://127.0.0.1:{port}"),
        // A single member has no peers: any port will do.
        "--listen-peer-urls=http://127.0.0.1:0".into(),
        // Written data survives a killed process, but not a power cut. It is much faster.
        "--unsafe-no-fsync".into(),
        "--log-level=warn".into(),
    ]
}

fn apiserver_arguments(certificates: &Certificates, port: u16, etcd_port: u16) -> Vec<String> {
    let file = |option: &str, name: &str| format!("--{option}={}", certificates.file(name).display());
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        "--advertise-address=127.0.0.1".into(),
        // Endpoints may not be loopback addresses.
        "--endpoint-reconciler-type=none".into(),
        // So that ClusterIPs are loopback addresses, and a test can serve an aggregated API or a webhook.
        "--service-cluster-ip-range=127.10.0.0/16".into(),
        "--authorization-mode=Node,RBAC".into(),
        "--profiling=false".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        file("service-account-signing-key-file", "service-accounts.key"),
        file("service-account-key-file", "service-accounts.pub"),
        file("tls-cert-file", "apiserver.crt"),
        file("tls-private-key-file", "apiserver.key"),
        file("client-ca-file", "ca.crt"),
        file("requestheader-client-ca-file", "front-proxy-ca.crt"),
        "--requestheader-allowed-names=front-proxy-client".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        file("proxy-client-cert-file", "front-proxy-client.crt"),
        file("proxy-client-key-file", "front-proxy-client.key"),
        "--enable-aggregator-routing=false".into(),
    ]
}
