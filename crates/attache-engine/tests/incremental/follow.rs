//! Follows a case, batch by batch, and compares with newly built engines.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use attache_engine::kinds::Settings;
use attache_engine::{Edit, EffectiveChange, Engine, Impact, IncrementalEngine, Report};
use attache_engine::{NodeRef, Object, ObjectRef, Objects};

use crate::answer::answer;
use crate::case::{Case, object};
use crate::corpus::BUILT_IN;
use crate::difference::{Facts, compare};

/// The first difference, if there is one.
pub fn verdict(case: &Case) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| follow(case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(format!("it panics: {}", text.unwrap_or("without a word")))
    })
}

/// The expected state after a batch.
struct State {
    objects: Vec<String>,
    answer: Vec<String>,
    facts: Facts,
}

fn follow(case: &Case) -> Result<(), String> {
    let settings = Settings { infer_unlabelled: case.infer_unlabelled, ..Settings::default() };
    let first: Vec<Object> = case.documents.iter().filter_map(object).collect();
    let mut objects: BTreeMap<ObjectRef, Object> = first.iter().map(|it| (it.id.clone(), it.clone())).collect();
    let mut one_shot = IncrementalEngine::one_shot(Objects::new(first.clone()), &BUILT_IN, settings.clone());
    let mut incremental = IncrementalEngine::new(Objects::new(first), &BUILT_IN, settings.clone());
    let mut states = vec![State::new(&objects, settings.clone())];
    let mut snapshots = vec![Arc::clone(incremental.now())];
    let mut reports = Vec::new();
    for (i, batch) in case.batches.iter().enumerate() {
        let edits: Vec<Edit> = batch.steps.iter().filter_map(|step| step.edit()).collect();
        for edit in &edits {
            match edit {
                Edit::Put(object) => objects.insert(object.id.clone(), object.clone()),
                Edit::Delete(id) => objects.remove(id),
            };
        }
        let told = one_shot.apply(edits.clone());
        let tried = incremental.try_batch(edits.clone());
        reports.push(incremental.apply(edits));
        snapshots.push(Arc::clone(incremental.now()));
        states.push(State::new(&objects, settings.clone()));
        if !batch.quiet {
            let within = |it| format!("after batch {}: {it}", i + 1);
            states[i + 1].check(&snapshots[i + 1]).map_err(within)?;
            check(&reports[i], &states[i..]).map_err(within)?;
            if let Ok(tried) = tried {
                check(&tried, &states[i..]).map_err(|it| within(format!("of a trial: {it}")))?;
            }
            let in_one_shot = |it| within(format!("of a one-shot engine: {it}"));
            states[i + 1].check(one_shot.now()).map_err(in_one_shot)?;
            check(&told, &states[i..]).map_err(in_one_shot)?;
        }
    }
    for (i, (state, snapshot)) in states.iter().zip(&snapshots).enumerate() {
        state.check(snapshot).map_err(|it| format!("at the end, the snapshot after batch {i}: {it}"))?;
    }
    for (i, report) in reports.iter().enumerate() {
        check(report, &states[i..]).map_err(|it| format!("at the end, the report of batch {}: {it}", i + 1))?;
    }
    Ok(())
}

impl State {
    fn new(objects: &BTreeMap<ObjectRef, Object>, settings: Settings) -> State {
        let engine = Engine::new(Objects::new(objects.values().cloned().collect()), &BUILT_IN, settings);
        State { objects: contents(&engine), answer: sorted(answer(&engine)), facts: Facts::new(&engine) }
    }

    fn check(&self, engine: &Engine) -> Result<(), String> {
        same(&contents(engine), &self.objects)?;
        same(&sorted(answer(engine)), &self.answer)
    }
}

/// Every object, with the locations of all values.
fn contents(engine: &Engine) -> Vec<String> {
    sorted(engine.objects().iter().map(|(_, object)| format!("{object:?}")).collect())
}

fn check(report: &Report, states: &[State]) -> Result<(), String> {
    let (impact, listed) = (report.impact(), Impact::new(&report.effective()));
    if impact != listed {
        return Err(format!("the impact is {impact:?}, and of the listed changes {listed:?}"));
    }
    let (outline, listed) = (outlined(report), counted(&report.effective()));
    if outline != listed {
        return Err(format!("the changes in outline are {outline:?}, and listed {listed:?}"));
    }
    compare(report, &states[0].facts, &states[1].facts)
}

/// For each kind and each change of values: the number of scopes, and the targets.
type Counts = BTreeMap<String, (u64, BTreeSet<NodeRef>)>;

fn counted(changes: &[EffectiveChange]) -> Counts {
    let mut counts = Counts::new();
    for change in changes {
        let (scopes, targets) = counts.entry(format!("{} {:?}", change.policy_kind, change.leaves)).or_default();
        *scopes += change.scopes.len() as u64;
        targets.extend(change.scopes.iter().filter_map(|scope| scope.target().cloned()));
    }
    counts
}

fn outlined(report: &Report) -> Counts {
    let outline = report.effective_outline();
    let mut counts = counted(&outline.scopes);
    for it in &outline.targets {
        let (scopes, targets) = counts.entry(format!("{} {:?}", it.policy_kind, it.leaves)).or_default();
        *scopes += it.scopes;
        targets.extend(it.targets.iter().map(|target| report.after.view().node_ref(*target)));
    }
    counts
}

fn sorted(mut records: Vec<String>) -> Vec<String> {
    records.sort();
    records
}

/// Returns the records that only one of the two has.
fn same(incremental: &[String], fresh: &[String]) -> Result<(), String> {
    if incremental == fresh {
        return Ok(());
    }
    let count = |records: &[String]| {
        records.iter().fold(BTreeMap::new(), |mut counts: BTreeMap<String, usize>, record| {
            *counts.entry(record.clone()).or_default() += 1;
            counts
        })
    };
    let (incremental, fresh) = (count(incremental), count(fresh));
    let only = |one: &BTreeMap<String, usize>, other: &BTreeMap<String, usize>| -> String {
        let more = one.iter().filter(|(record, count)| other.get(*record).is_none_or(|there| there < count));
        more.map(|(record, _)| format!("  {}\n", record.replace('\n', "\n  "))).collect()
    };
    Err(format!(
        "only the incremental engine has\n{}only the new engine has\n{}",
        only(&incremental, &fresh),
        only(&fresh, &incremental)
    ))
}
