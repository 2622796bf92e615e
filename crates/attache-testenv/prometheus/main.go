// Checks alert rules and queries as Prometheus does, and prints the names of the metrics that they use.
//
//	promql rules FILE
//	promql queries < QUERIES     one query on each line
package main

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	queries := []string{}
	problems := []error{}
	promql := parser.NewParser(parser.Options{})
	switch {
	case len(os.Args) == 3 && os.Args[1] == "rules":
		groups, errs := rulefmt.ParseFile(os.Args[2], false, model.UTF8Validation, promql, slog.Default())
		problems = append(problems, errs...)
		if groups != nil {
			for _, group := range groups.Groups {
				for _, rule := range group.Rules {
					queries = append(queries, rule.Expr)
				}
			}
		}
	case len(os.Args) == 2 && os.Args[1] == "queries":
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			queries = append(queries, lines.Text())
		}
	default:
		problems = append(problems, fmt.Errorf("usage: promql rules FILE | promql queries"))
	}

	metrics := []string{}
	for _, query := range queries {
		expression, err := promql.ParseExpr(query)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", query, err))
			continue
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			if selector, is := node.(*parser.VectorSelector); is {
				metrics = append(metrics, selector.Name)
			}
			return nil
		})
	}
	slices.Sort(metrics)
	for _, metric := range slices.Compact(metrics) {
		fmt.Println(metric)
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}
