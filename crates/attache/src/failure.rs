//! Why a command failed.

use std::io;

use attache_answers::QueryError;
use attache_cluster::ClusterError;
use attache_engine::Problem;

#[derive(Debug)]
pub enum Failure {
    Problem(Box<Problem>),
    /// The reason has been shown.
    Shown,
    /// The answer could not be written.
    Output(io::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Problem(Box::new(problem))
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Failure {
        error.problem().into()
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Failure {
        Problem::from(error).into()
    }
}
