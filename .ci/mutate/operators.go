package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// A function is one whose mutants are being added. The operators are:
//
//	true, false  a condition, or an operand of || or &&, always has this value
//	boundary     < becomes <=, and > becomes >=, or the reverse
//	constant     true becomes false, or the reverse; a number up to 10 becomes one less, and
//	             0 becomes 1, unless that is a time
//	call         a call is left out that is a statement, also one with defer or go
//	assign       an assignment is left out
//
// A condition is what if, for or a case without a value has, or a comparison, || or && in
// another place.
type function struct {
	*file
	name   string         // with the type of its receiver
	counts map[string]int // of mutants, by operator
}

// quiet are calls without which tests hang, or see no difference: of mutexes, of what ends
// contexts, and of the log.
func (f *function) quiet(c *ast.CallExpr) bool {
	if t := f.pkg.info.TypeOf(c.Fun); t != nil && t.String() == "context.CancelFunc" {
		return true
	}
	switch called := c.Fun.(type) {
	case *ast.Ident:
		return called.Name == "panic" // after which the function need not return
	case *ast.SelectorExpr:
		o := f.pkg.info.Uses[called.Sel]
		if o == nil || o.Pkg() == nil {
			return false
		}
		return o.Pkg().Path() == "log/slog" || o.Pkg().Path() == "sync" && slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock"}, o.Name())
	}
	return false
}

// node adds the mutants of a node, given those around it. It reports whether those within it
// follow.
func (f *function) node(n ast.Node, around []ast.Node) bool {
	if len(around) == 0 {
		return true
	}
	parent := around[len(around)-1]
	switch n := n.(type) {
	case *ast.ArrayType:
		return false // its length is constant
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case ast.Stmt:
		if slices.Contains(statements(parent), n) {
			f.statement(n)
		}
	case ast.Expr:
		if v := f.pkg.info.Types[n]; v.Value != nil {
			f.constant(n, around)
		} else if v.IsValue() {
			f.condition(n, around)
			if b, ok := n.(*ast.BinaryExpr); ok {
				f.boundary(b)
			}
		}
	}
	return true
}

func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

func (f *function) statement(s ast.Stmt) {
	operator := "call"
	var call *ast.CallExpr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		call = s.Call
	case *ast.GoStmt:
		call = s.Call
	case *ast.IncDecStmt:
		operator = "assign"
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return
		}
		if operator = "assign"; types.ExprString(s.Lhs[0]) == "_" {
			operator = "call"
			call, _ = s.Rhs[0].(*ast.CallExpr)
		}
	}
	if operator == "assign" || call != nil && !f.quiet(call) {
		f.add(s, operator, "if !mutant_on(%d) { ", " }")
	}
}

// condition adds the mutants of a condition, or of an operand of one.
func (f *function) condition(e ast.Expr, around []ast.Node) {
	for _, always := range f.values(e, around) {
		f.add(e, always, "mutant_"+always+"(%d, ", ")")
	}
}

// values returns what a condition can always be. That an operand of || is true, or one of &&
// is false, is a mutant of the whole. A loop that never ends tells nothing.
func (f *function) values(e ast.Expr, around []ast.Node) []string {
	parent := around[len(around)-1]
	inner, isBinary := e.(*ast.BinaryExpr)
	switch p := parent.(type) {
	case *ast.BinaryExpr:
		switch {
		case isBinary && inner.Op == p.Op:
			return nil // it has operands
		case p.Op == token.LOR:
			return []string{"false"}
		case p.Op == token.LAND:
			return []string{"true"}
		}
	case *ast.ForStmt:
		return []string{"false"}
	case *ast.IfStmt:
		return []string{"true", "false"}
	case *ast.CaseClause:
		if s, ok := around[len(around)-3].(*ast.SwitchStmt); ok && s.Tag == nil {
			return []string{"true", "false"}
		}
	}
	if isBinary && isBool(f.pkg.info.TypeOf(e)) && !isPartOfCondition(parent) {
		return []string{"true", "false"}
	}
	return nil
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// isPartOfCondition reports whether what is directly within a node has no mutants of its own.
func isPartOfCondition(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return true
	case *ast.UnaryExpr:
		return n.Op == token.NOT
	}
	return false
}

// boundary adds the mutant of a comparison that differs where both sides are equal.
func (f *function) boundary(b *ast.BinaryExpr) {
	name, ok := map[token.Token]string{token.LSS: "less", token.LEQ: "less_equal", token.GTR: "greater", token.GEQ: "greater_equal"}[b.Op]
	if ok {
		f.add(b, "boundary", "mutant_"+name+"(%d, ", ")")
		f.replace(b.OpPos, len(b.Op.String()), ",")
	}
}

// constant adds the mutant of true, false, or a small number.
func (f *function) constant(e ast.Expr, around []ast.Node) {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "true" || e.Name == "false" {
			f.add(e, "constant", "(mutant_on(%d) != ", ")")
		}
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		if kv, ok := around[len(around)-1].(*ast.KeyValueExpr); err != nil || n > 10 || ok && kv.Key == e {
			return
		}
		t := f.typed(e, around)
		other := n - 1
		if n == 0 {
			other = 1
			if _, named := t.(*types.Named); named {
				return // a nanosecond decides nothing
			}
		}
		if t, ok := f.typeName(t); ok {
			f.add(e, "constant", t+"(mutant_number(%d, ", fmt.Sprintf(", %d))", other))
		}
	}
}

// typed returns the type of an expression. The operands of a constant expression have none.
func (f *function) typed(e ast.Expr, around []ast.Node) types.Type {
	t := f.pkg.info.TypeOf(e)
	for i := len(around) - 1; strings.HasPrefix(t.String(), "untyped "); i-- {
		outer, ok := around[i].(ast.Expr)
		if !ok {
			return types.Default(t)
		}
		t = f.pkg.info.TypeOf(outer)
	}
	return t
}

// typeName returns how a type is written in the file, if it can be.
func (f *function) typeName(t types.Type) (name string, ok bool) {
	ok = true
	name = types.TypeString(t, func(p *types.Package) string {
		ok = p == f.pkg.types || slices.ContainsFunc(f.syntax.Imports, func(s *ast.ImportSpec) bool {
			return s.Path.Value == strconv.Quote(p.Path()) && s.Name == nil
		})
		if p == f.pkg.types {
			return ""
		}
		return p.Name()
	})
	return name, ok
}
