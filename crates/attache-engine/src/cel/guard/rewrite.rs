//! Checks the names of a parsed expression, records which fields it reads, and wraps operands so that their size is charged.

use std::sync::Arc;

use cel::common::ast::operators::{
    CONDITIONAL, INDEX, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, NOT_STRICTLY_FALSE, OPT_INDEX, OPT_SELECT,
};
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SourceInfo};
use cel::{Context, ExecutionError, IdedExpr};

use super::meter::{self, EACH, MATCHES, Patterns, SPEND};
use super::{CompileError, ENV, FieldMask, GuardSettings, GuardedExpression, MAX_DEPTH};

pub(super) fn rewrite(
    text: &str,
    mut expression: IdedExpr,
    source: &SourceInfo,
    settings: GuardSettings,
) -> Result<GuardedExpression, CompileError> {
    let mut names = Context::with_env(ENV.clone());
    meter::install(&mut names, &Default::default(), &Default::default(), settings.compile_pattern);
    let (scope, fields, patterns) = (Vec::new(), FieldMask::default(), Patterns::new());
    let mut rewriter = Rewriter { text, source, settings, names, scope, fields, patterns };
    rewriter.check_depth(&expression)?;
    rewriter.rewrite_expression(&mut expression, false)?;
    let Rewriter { fields, patterns, .. } = rewriter;
    Ok(GuardedExpression { settings, expression, fields, patterns: Arc::new(patterns) })
}

struct Rewriter<'t> {
    text: &'t str,
    source: &'t SourceInfo,
    settings: GuardSettings,
    /// All functions and types.
    names: Context<'static, 'static>,
    /// The variables of the loops around the current expression, innermost last.
    scope: Vec<String>,
    fields: FieldMask,
    patterns: Patterns,
}

impl Rewriter<'_> {
    /// All other steps are recursive, so this one must not be.
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

    /// Rewrites an expression. Returns what one evaluation costs, without what its operands and loops are charged when it runs.
    /// `is_recorded` says that the expression is part of a path that is already in `fields`.
    fn rewrite_expression(&mut self, expression: &mut IdedExpr, is_recorded: bool) -> Result<i64, CompileError> {
        let is_recorded = is_recorded || self.record_read(expression);
        if let Expr::Ident(name) = &expression.expr {
            return match self.knows(name) {
                true => Ok(1),
                false => Err(self.error(expression, self.unknown_name(name))),
            };
        }
        let id = expression.id;
        match &mut expression.expr {
            Expr::Literal(_) | Expr::Ident(_) => Ok(1),
            Expr::Select(select) => Ok(1 + self.rewrite_expression(&mut select.operand, is_recorded)?),
            Expr::Call(call) => {
                self.check_function(id, call)?;
                let mut cost = 1;
                match call.func_name.as_str() {
                    CONDITIONAL | LOGICAL_AND | LOGICAL_OR | LOGICAL_NOT | NOT_STRICTLY_FALSE => {
                        for argument in &mut call.args {
                            cost += self.rewrite_expression(argument, false)?;
                        }
                    }
                    // A lookup in a large container costs no more than in a small one. But the optional forms copy the value
                    // that they find: the copy is charged.
                    name @ (INDEX | OPT_INDEX | OPT_SELECT) => {
                        let copies = name != INDEX;
                        if let [container, key] = call.args.as_mut_slice() {
                            cost += self.rewrite_expression(container, is_recorded)?
                                + self.rewrite_expression(key, false)?;
                            charge(key);
                        }
                        if copies {
                            charge(expression);
                        }
                    }
                    _ => {
                        if let Some(target) = &mut call.target
                            && !self.is_namespace(target)
                        {
                            cost += self.rewrite_operand(target)?;
                        }
                        for argument in &mut call.args {
                            cost += self.rewrite_operand(argument)?;
                        }
                    }
                }
                Ok(cost)
            }
            Expr::List(list) => {
                list.elements.iter_mut().try_fold(1, |cost, item| Ok(cost + self.rewrite_operand(item)?))
            }
            Expr::Map(map) => {
                let mut cost = 1;
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        cost += self.rewrite_operand(&mut entry.key)? + self.rewrite_operand(&mut entry.value)?;
                    }
                }
                Ok(cost)
            }
            Expr::Comprehension(comprehension) => self.rewrite_loop(comprehension),
            Expr::Struct(message) => {
                let message = format!("unknown type `{}`", message.type_name);
                Err(self.error(expression, message))
            }
            Expr::Unspecified => Err(self.error(expression, "incomplete")),
        }
    }

    /// Rewrites an operand and charges its size. Not for literals, which are small; for lists and maps, whose parts are charged;
    /// and for accumulators (`@result`), which are charged where they grow.
    fn rewrite_operand(&mut self, expression: &mut IdedExpr) -> Result<i64, CompileError> {
        let cost = self.rewrite_expression(expression, false)?;
        match &expression.expr {
            Expr::Literal(_) | Expr::List(_) | Expr::Map(_) => {}
            Expr::Ident(name) if name.starts_with('@') => {}
            _ => charge(expression),
        }
        Ok(cost)
    }

    /// Charges the range of a loop and each iteration. The accumulator and the step stay as they are: the interpreter recognizes
    /// `all`, `exists`, `map` and `filter` by their shape and runs them faster.
    fn rewrite_loop(&mut self, comprehension: &mut ComprehensionExpr) -> Result<i64, CompileError> {
        let ComprehensionExpr { iter_range, iter_var, iter_var2, accu_var, accu_init, loop_cond, loop_step, result } =
            comprehension;
        let before = self.rewrite_operand(accu_init)? + self.rewrite_expression(iter_range, false)?;
        let outer = self.scope.len();
        self.scope.push(accu_var.clone());
        let after = self.rewrite_operand(result)?;
        self.scope.push(iter_var.clone());
        self.scope.extend(iter_var2.clone());
        let step = self.rewrite_expression(loop_cond, false)? + self.rewrite_expression(loop_step, false)?;
        self.scope.truncate(outer);

        let weight = IdedExpr { id: iter_range.id, expr: Expr::Literal(LiteralValue::Int(step.into())) };
        let range = std::mem::take(iter_range);
        *iter_range = call(range.id, EACH, vec![range, weight]);
        Ok(1 + before + after)
    }

    /// Records which field of the variable an expression reads. False if the expression is not a path.
    fn record_read(&mut self, expression: &IdedExpr) -> bool {
        if let Expr::Select(select) = &expression.expr
            && select.test
        {
            let Some(mut path) = self.path(&select.operand) else { return false };
            path.push(&select.field);
            self.fields.add(&path, FieldMask::Presence);
            return true;
        }
        let Some(path) = self.path(expression) else { return false };
        self.fields.add(&path, FieldMask::All);
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
        // A name with a leading dot is never a loop variable.
        let variable = self.settings.variable;
        name.strip_prefix('.') == Some(variable) || (name == variable && !self.scope.iter().any(|inner| inner == name))
    }

    fn knows(&self, name: &str) -> bool {
        self.is_variable(name)
            || self.scope.iter().any(|variable| variable == name)
            || cel::Value::resolve_val(&ident(name), &self.names).is_ok()
    }

    /// Whether the target of a call is a namespace and not a value, as `optional` in `optional.of(1)`.
    fn is_namespace(&self, target: &IdedExpr) -> bool {
        matches!(&target.expr, Expr::Ident(name) if !self.knows(name))
    }

    fn check_function(&mut self, id: u64, function: &CallExpr) -> Result<(), CompileError> {
        let name = &function.func_name;
        if !name.starts_with(|first: char| first.is_alphabetic()) {
            return Ok(());
        }
        // Call the function without arguments: an unknown function fails with its own error, others fail in other ways.
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
            let regex = (self.settings.compile_pattern)(text.inner())
                .map_err(|error| self.error(pattern, format!("`{}` is not a pattern: {error}", text.inner())))?;
            self.patterns.insert(text.inner().to_owned(), regex);
        }
        Ok(())
    }

    fn unknown_name(&self, name: &str) -> String {
        format!("unknown name `{name}`, the only variable is `{}`", self.settings.variable)
    }

    fn error(&self, expression: &IdedExpr, message: impl Into<String>) -> CompileError {
        let offset = self.source.offset_for(expression.id).map_or(0, |(start, _)| start as usize);
        CompileError::at_offset(message.into(), self.text, offset)
    }
}

/// Wraps an expression so that the size of its value is charged.
fn charge(expression: &mut IdedExpr) {
    let charged = std::mem::take(expression);
    *expression = call(charged.id, SPEND, vec![charged]);
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
