//! What is done to a parsed condition before anybody evaluates it: its names are checked, what it reads of
//! `spec` is noted, and every operand is wrapped so that it is paid for.

use cel::common::ast::operators::{
    CONDITIONAL, INDEX, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, NOT_STRICTLY_FALSE, OPT_INDEX, OPT_SELECT,
};
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SourceInfo};
use cel::{Context, ExecutionError, IdedExpr};

use super::fields::Fields;
use super::meter::{self, EACH, MATCHES, Patterns, SPEND};
use super::{CompileError, ENV, MAX_DEPTH, VARIABLE};

pub(super) struct Guarded {
    pub(super) expression: IdedExpr,
    pub(super) fields: Fields,
    pub(super) patterns: Patterns,
}

pub(super) fn guard(text: &str, mut expression: IdedExpr, source: &SourceInfo) -> Result<Guarded, CompileError> {
    let mut names = Context::with_env(ENV.clone());
    meter::install(&mut names, &Default::default(), &Default::default());
    let mut guard =
        Guard { text, source, names, scope: Vec::new(), fields: Fields::default(), patterns: Patterns::new() };
    guard.check_depth(&expression)?;
    guard.visit(&mut expression, false)?;
    Ok(Guarded { expression, fields: guard.fields, patterns: guard.patterns })
}

struct Guard<'t> {
    text: &'t str,
    source: &'t SourceInfo,
    /// Everything that can be named but variables.
    names: Context<'static, 'static>,
    /// The variables of the loops around, innermost last.
    scope: Vec<String>,
    fields: Fields,
    patterns: Patterns,
}

impl Guard<'_> {
    /// Everything after this recurses, so this must not.
    fn check_depth(&self, expression: &IdedExpr) -> Result<(), CompileError> {
        let mut todo = vec![(expression, 1)];
        while let Some((expression, depth)) = todo.pop() {
            if depth > MAX_DEPTH {
                let message = format!("operators and calls may stand in each other {MAX_DEPTH} times at most");
                return Err(self.error(expression, message));
            }
            todo.extend(children(expression).into_iter().map(|child| (child, depth + 1)));
        }
        Ok(())
    }

    /// Guards an expression and returns what one evaluation of it costs beyond what its operands and loops
    /// pay for themselves. `noted` says that the path this is part of is in `fields` already.
    fn visit(&mut self, expression: &mut IdedExpr, noted: bool) -> Result<i64, CompileError> {
        let noted = noted || self.note(expression);
        if let Expr::Ident(name) = &expression.expr {
            return match self.knows(name) {
                true => Ok(1),
                false => {
                    Err(self.error(expression, format!("unknown name `{name}`, the only variable is `{VARIABLE}`")))
                }
            };
        }
        let id = expression.id;
        match &mut expression.expr {
            Expr::Literal(_) | Expr::Ident(_) => Ok(1),
            Expr::Select(select) => Ok(1 + self.visit(&mut select.operand, noted)?),
            Expr::Call(call) => {
                self.check_function(id, call)?;
                let mut cost = 1;
                match call.func_name.as_str() {
                    CONDITIONAL | LOGICAL_AND | LOGICAL_OR | LOGICAL_NOT | NOT_STRICTLY_FALSE => {
                        for argument in &mut call.args {
                            cost += self.visit(argument, false)?;
                        }
                    }
                    // To look something up costs no more for a large container, but to make it optional copies it:
                    // the copy is paid for after, and not made at all when nothing is left.
                    name @ (INDEX | OPT_INDEX | OPT_SELECT) => {
                        let copies = name != INDEX;
                        if let [container, key] = call.args.as_mut_slice() {
                            cost += self.visit(container, noted)? + self.visit(key, false)?;
                            pay(key);
                        }
                        if copies {
                            pay(expression);
                        }
                    }
                    _ => {
                        if let Some(target) = &mut call.target
                            && !self.is_namespace(target)
                        {
                            cost += self.visit_operand(target)?;
                        }
                        for argument in &mut call.args {
                            cost += self.visit_operand(argument)?;
                        }
                    }
                }
                Ok(cost)
            }
            Expr::List(list) => list.elements.iter_mut().try_fold(1, |cost, item| Ok(cost + self.visit_operand(item)?)),
            Expr::Map(map) => {
                let mut cost = 1;
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        cost += self.visit_operand(&mut entry.key)? + self.visit_operand(&mut entry.value)?;
                    }
                }
                Ok(cost)
            }
            Expr::Comprehension(comprehension) => self.visit_loop(comprehension),
            Expr::Struct(message) => {
                let message = format!("unknown type `{}`", message.type_name);
                Err(self.error(expression, message))
            }
            Expr::Unspecified => Err(self.error(expression, "incomplete")),
        }
    }

    /// What is written out in the condition is small or pays for its parts, and an accumulator (`@result`) is
    /// paid for where it grows; any other operand is paid for.
    fn visit_operand(&mut self, expression: &mut IdedExpr) -> Result<i64, CompileError> {
        let cost = self.visit(expression, false)?;
        match &expression.expr {
            Expr::Literal(_) | Expr::List(_) | Expr::Map(_) => {}
            Expr::Ident(name) if name.starts_with('@') => {}
            _ => pay(expression),
        }
        Ok(cost)
    }

    /// The interpreter knows the loops of `all`, `exists`, `map` and `filter` by their shape, and runs them
    /// faster: so the accumulator and the steps themselves stay as they are.
    fn visit_loop(&mut self, comprehension: &mut ComprehensionExpr) -> Result<i64, CompileError> {
        let ComprehensionExpr { iter_range, iter_var, iter_var2, accu_var, accu_init, loop_cond, loop_step, result } =
            comprehension;
        let before = self.visit_operand(accu_init)? + self.visit(iter_range, false)?;
        let outer = self.scope.len();
        self.scope.push(accu_var.clone());
        let after = self.visit_operand(result)?;
        self.scope.push(iter_var.clone());
        self.scope.extend(iter_var2.clone());
        let step = self.visit(loop_cond, false)? + self.visit(loop_step, false)?;
        self.scope.truncate(outer);

        let weight = IdedExpr { id: iter_range.id, expr: Expr::Literal(LiteralValue::Int(step.into())) };
        let range = std::mem::take(iter_range);
        *iter_range = call(range.id, EACH, vec![range, weight]);
        Ok(1 + before + after)
    }

    /// Notes in `fields` what an expression reads of `spec`, if it is a path into it.
    fn note(&mut self, expression: &IdedExpr) -> bool {
        if let Expr::Select(select) = &expression.expr
            && select.test
        {
            let Some(mut path) = self.path(&select.operand) else { return false };
            path.push(&select.field);
            self.fields.add(&path, Fields::Presence);
            return true;
        }
        let Some(path) = self.path(expression) else { return false };
        self.fields.add(&path, Fields::All);
        true
    }

    /// The fields of `spec.a.b`, `spec["a"].?b` and the like.
    fn path<'e>(&self, mut expression: &'e IdedExpr) -> Option<Vec<&'e str>> {
        let mut path = Vec::new();
        loop {
            expression = match &expression.expr {
                Expr::Ident(name) if self.is_variable(name) => break,
                Expr::Select(select) if !select.test => {
                    path.push(select.field.as_str());
                    &select.operand
                }
                Expr::Call(call) if matches!(call.func_name.as_str(), INDEX | OPT_INDEX | OPT_SELECT) => {
                    let [container, key] = call.args.as_slice() else { return None };
                    let Expr::Literal(LiteralValue::String(key)) = &key.expr else { return None };
                    path.push(key.inner());
                    container
                }
                _ => return None,
            }
        }
        path.reverse();
        Some(path)
    }

    fn is_variable(&self, name: &str) -> bool {
        // With a dot before it a name is never that of a loop's variable.
        name.strip_prefix('.') == Some(VARIABLE) || (name == VARIABLE && !self.scope.iter().any(|inner| inner == name))
    }

    fn knows(&self, name: &str) -> bool {
        self.is_variable(name)
            || self.scope.iter().any(|variable| variable == name)
            || cel::Value::resolve_val(&ident(name), &self.names).is_ok()
    }

    /// `optional` in `optional.of(1)`, which is no value.
    fn is_namespace(&self, target: &IdedExpr) -> bool {
        matches!(&target.expr, Expr::Ident(name) if !self.knows(name))
    }

    fn check_function(&mut self, id: u64, function: &CallExpr) -> Result<(), CompileError> {
        let name = &function.func_name;
        if !name.starts_with(|first: char| first.is_alphabetic()) {
            return Ok(());
        }
        // Called with nothing, it is either told apart from those that exist, or fails in another way.
        let target = function.target.as_ref().map(|target| match self.is_namespace(target) {
            true => target.clone(),
            false => Box::new(IdedExpr { id, expr: Expr::Literal(LiteralValue::Null) }),
        });
        let probe = CallExpr { func_name: name.clone(), target, args: Vec::new() };
        let probe = IdedExpr { id, expr: Expr::Call(probe) };
        if let Err(ExecutionError::UndeclaredReference(unknown)) = cel::Value::resolve_val(&probe, &self.names) {
            let what = if *unknown == *name { "function" } else { "name" };
            return Err(self.error(&probe, format!("unknown {what} `{unknown}`")));
        }
        if name == MATCHES
            && let Some(pattern) = function.args.last()
            && let Expr::Literal(LiteralValue::String(text)) = &pattern.expr
        {
            let regex = meter::compile(text)
                .map_err(|error| self.error(pattern, format!("`{}` is not a pattern: {error}", text.inner())))?;
            self.patterns.insert(text.inner().to_owned(), regex);
        }
        Ok(())
    }

    fn error(&self, expression: &IdedExpr, message: impl Into<String>) -> CompileError {
        let offset = self.source.offset_for(expression.id).map_or(0, |(start, _)| start as usize);
        CompileError::at_offset(message.into(), self.text, offset)
    }
}

/// Wraps an expression so that its value is paid for.
fn pay(expression: &mut IdedExpr) {
    let paid = std::mem::take(expression);
    *expression = call(paid.id, SPEND, vec![paid]);
}

fn call(id: u64, function: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id, expr: Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args }) }
}

fn ident(name: &str) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Ident(name.to_owned()) }
}

fn children(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => call.target.iter().map(Box::as_ref).chain(&call.args).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_children(&entry.expr)).collect(),
        Expr::Struct(message) => message.entries.iter().flat_map(|entry| entry_children(&entry.expr)).collect(),
        Expr::Comprehension(c) => vec![&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result],
    }
}

fn entry_children(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
