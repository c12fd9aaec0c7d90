// test/kubernetes/schema/main.go - writes src/api/builtin_schema.inc: the fields of Kubernetes' built-in kinds, read from
// the Go sources of k8s.io/api and k8s.io/apimachinery (names, protobuf numbers, merge keys, list types, defaults).
//
//	cd test/kubernetes/schema && go run . > ../../../src/api/builtin_schema.inc
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
)

// What is served or read: a package below k8s.io/api (or meta/v1 of apimachinery), and its types.
var roots = map[string]string{
	"core/v1": "Namespace Node Pod Service Endpoints ConfigMap Secret ServiceAccount Event LimitRange ResourceQuota " +
		"PersistentVolumeClaim PersistentVolume ReplicationController PodTemplate Binding PodExecOptions PodLogOptions PodStatusResult",
	"events/v1":                "Event",
	"discovery/v1":             "EndpointSlice",
	"coordination/v1":          "Lease",
	"scheduling/v1":            "PriorityClass",
	"rbac/v1":                  "Role RoleBinding ClusterRole ClusterRoleBinding",
	"batch/v1":                 "Job CronJob",
	"apps/v1":                  "Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision",
	"networking/v1":            "Ingress NetworkPolicy IngressClass",
	"node/v1":                  "RuntimeClass",
	"policy/v1":                "PodDisruptionBudget Eviction",
	"storage/v1":               "StorageClass",
	"autoscaling/v1":           "Scale HorizontalPodAutoscaler",
	"admissionregistration/v1": "ValidatingWebhookConfiguration MutatingWebhookConfiguration",
	"authentication/v1":        "TokenRequest TokenReview SelfSubjectReview",
	"authorization/v1":         "SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview SelfSubjectRulesReview",
	"meta/v1":                  "DeleteOptions Status ListOptions CreateOptions UpdateOptions PatchOptions GetOptions",
}

// Types whose JSON is not what their Go fields say.
var special = map[string]string{
	"meta/v1.Time": "time", "meta/v1.MicroTime": "micro_time", "meta/v1.FieldsV1": "any",
	"resource.Quantity": "quantity", "intstr.IntOrString": "int_or_string", "runtime.RawExtension": "any",
	"types.UID": "string", "types.NodeName": "string", "types.NamespacedName": "string",
}

type goType struct {
	spec     *ast.TypeSpec
	comments string
	imports  map[string]string
}

var (
	types      = map[string]goType{}   // "core/v1.Pod"
	values     = map[string][]string{} // "core/v1.RestartPolicy" -> its constants
	constants  = map[string]string{}   // "core/v1.ProtocolTCP" -> "TCP"
	queue      []string
	seen       = map[string]bool{}
	moduleDirs = map[string]string{}
)

func main() {
	for _, module := range []string{"k8s.io/api", "k8s.io/apimachinery"} {
		out, err := exec.Command("go", "mod", "download", "-json", module).Output()
		if err != nil {
			log.Fatalf("go mod download %s: %v", module, err)
		}
		var downloaded struct{ Dir string }
		if err := json.Unmarshal(out, &downloaded); err != nil {
			log.Fatal(err)
		}
		moduleDirs[module] = downloaded.Dir
	}
	for pkg := range roots {
		load(pkg)
	}
	for pkg, names := range roots {
		for _, name := range strings.Fields(names) {
			want(pkg + "." + name)
		}
	}
	texts := map[string]string{}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		texts[name] = definition(name)
	}
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	sort.Strings(names)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, "// src/api/builtin_schema.inc - fields of the built-in kinds; written by test/kubernetes/schema, do not edit.")
	fmt.Fprint(out, "R\"schema(")
	size := 0
	for _, name := range names {
		if size > 12000 { // Long literals are split: every compiler takes 16 KB.
			fmt.Fprint(out, ")schema\"\nR\"schema(")
			size = 0
		}
		fmt.Fprint(out, texts[name])
		size += len(texts[name])
	}
	fmt.Fprintln(out, ")schema\"")
}

func directory(pkg string) string {
	if pkg == "meta/v1" {
		return filepath.Join(moduleDirs["k8s.io/apimachinery"], "pkg/apis/meta/v1")
	}
	return filepath.Join(moduleDirs["k8s.io/api"], pkg)
}

func load(pkg string) {
	packages, err := parser.ParseDir(token.NewFileSet(), directory(pkg), func(info os.FileInfo) bool {
		return !strings.HasSuffix(info.Name(), "_test.go") && !strings.HasPrefix(info.Name(), "zz_") && !strings.HasPrefix(info.Name(), "generated")
	}, parser.ParseComments)
	if err != nil {
		log.Fatal(err)
	}
	for _, parsed := range packages {
		for _, file := range parsed.Files {
			load_file(pkg, file)
		}
	}
}

func load_file(pkg string, file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		short := strings.TrimPrefix(strings.TrimPrefix(path, "k8s.io/api/"), "k8s.io/apimachinery/pkg/apis/")
		if short == path {
			short = filepath.Base(path)
		}
		alias := filepath.Base(path)
		if spec.Name != nil {
			alias = spec.Name.Name
		}
		imports[alias] = short
	}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				comments := raw_text(general.Doc) + raw_text(spec.Doc)
				types[pkg+"."+spec.Name.Name] = goType{spec, comments, imports}
			case *ast.ValueSpec:
				note_constant(pkg, spec)
			}
		}
	}
}

func note_constant(pkg string, spec *ast.ValueSpec) {
	if len(spec.Values) != 1 {
		return
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	value := strings.Trim(literal.Value, `"`)
	constants[pkg+"."+spec.Names[0].Name] = value
	if ident, ok := spec.Type.(*ast.Ident); ok {
		key := pkg + "." + ident.Name
		values[key] = append(values[key], value)
	}
}

// raw_text keeps marker lines, which CommentGroup.Text would drop in part.
func raw_text(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	text := ""
	for _, comment := range group.List {
		text += strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")) + "\n"
	}
	return text
}

func want(name string) {
	if _, ok := types[name]; !ok {
		log.Fatalf("no type %s", name)
	}
	if !seen[name] {
		seen[name] = true
		queue = append(queue, name)
	}
}

func dotted(name string) string { return strings.Replace(name, "/", ".", 1) }

func definition(name string) string {
	found := types[name]
	line := "@" + dotted(name)
	if marker(found.comments, "structType") == "atomic" || marker(found.comments, "mapType") == "atomic" {
		line += " atomic"
	}
	return line + "\n" + fields(name, found.spec.Type.(*ast.StructType), "")
}

// fields prints one line a field: NAME NUMBER[/OUTER][*][!] TYPE ATTRIBUTES; * keeps zeros, ! is shown as required.
func fields(owner string, structure *ast.StructType, via string) string {
	pkg := owner[:strings.LastIndex(owner, ".")]
	imports := types[owner].imports
	text := ""
	for _, field := range structure.Fields.List {
		if field.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
		parts := strings.Split(tag.Get("json"), ",")
		options := strings.Join(parts[1:], ",")
		number := "0"
		if pieces := strings.Split(tag.Get("protobuf"), ","); len(pieces) > 1 {
			number = pieces[1]
		}
		if strings.Contains(options, "inline") || (parts[0] == "" && len(field.Names) == 0) {
			inner := resolve(pkg, imports, field.Type)
			if inner == "meta/v1.TypeMeta" {
				text += "apiVersion 0 string\nkind 0 string\n"
				continue
			}
			if via != "" && number != "0" {
				log.Fatalf("%s: inlined twice", owner)
			}
			outer := via
			if number != "0" {
				outer = number
			}
			ensure(inner)
			text += fields(inner, types[inner].spec.Type.(*ast.StructType), outer)
			continue
		}
		if parts[0] == "-" || parts[0] == "" {
			continue
		}
		text += field_line(pkg, imports, field, tag, parts[0], options, number, via)
	}
	return text
}

func field_line(pkg string, imports map[string]string, field *ast.Field, tag reflect.StructTag, name, options, number, via string) string {
	comments := raw_text(field.Doc)
	if via != "" {
		number += "/" + via
	}
	_, pointer := field.Type.(*ast.StarExpr)
	word := type_word(pkg, imports, field.Type)
	omitempty := strings.Contains(options, "omitempty")
	structure := strings.Contains(word, ".") || word == "quantity" || word == "int_or_string"
	if word[0] == '[' || word[0] == '{' {
		structure = false
	}
	if pointer || !omitempty || (structure && !strings.Contains(options, "omitzero")) {
		number += "*"
	}
	optional := strings.Contains("\n"+comments, "\n+optional") || strings.Contains("\n"+comments, "\n+k8s:optional")
	if !optional && !omitempty || strings.Contains("\n"+comments, "\n+required") {
		number += "!"
	}
	line := name + " " + number + " " + word
	switch marker(comments, "listType") {
	case "set":
		line += " set"
	case "map":
		keys := []string{}
		for _, comment := range strings.Split(comments, "\n") {
			if key, ok := strings.CutPrefix(comment, "+listMapKey="); ok {
				keys = append(keys, key)
			}
		}
		line += " map=" + strings.Join(keys, ",")
	}
	if marker(comments, "mapType") == "atomic" || marker(comments, "structType") == "atomic" {
		line += " atomic"
	}
	for _, strategy := range strings.Split(tag.Get("patchStrategy"), ",") {
		switch strategy {
		case "merge":
			line += " merge"
			if key := tag.Get("patchMergeKey"); key != "" {
				line += "=" + key
			}
		case "replace":
			line += " replace"
		case "retainKeys":
			line += " retain_keys"
		}
	}
	value := marker(comments, "default")
	if !pointer && (value == `""` || value == "0" || value == "false") {
		value = "" // Absent already means that.
	}
	if value != "" {
		if inner, ok := strings.CutPrefix(value, "ref("); ok {
			inner = strings.TrimSuffix(inner, ")")
			constant, known := constants[pkg+"."+inner[strings.LastIndex(inner, ".")+1:]]
			if !known {
				log.Fatalf("%s: no constant %s", name, inner)
			}
			value = `"` + constant + `"`
		}
		line += " default=" + value
	}
	if allowed := enum_of(pkg, imports, field.Type); len(allowed) > 0 {
		line += " enum=" + strings.Join(allowed, "|")
	}
	if text := first_sentence(comments); text != "" {
		line += " -- " + text
	}
	return line + "\n"
}

// first_sentence is what `kubectl explain` shows; the rest is in Kubernetes' own documentation.
func first_sentence(comments string) string {
	const longest = 160
	words := []string{}
	for _, line := range strings.Split(comments, "\n") {
		if strings.HasPrefix(line, "+") || line == "" || line == "---" {
			if len(words) > 0 {
				break
			}
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	text := strings.Join(words, " ")
	if end := strings.Index(text, ". "); end >= 0 {
		text = text[:end+1]
	}
	if len(text) > longest {
		text = text[:strings.LastIndex(text[:longest], " ")] + " ..."
	}
	return text
}

func marker(comments, name string) string {
	for _, line := range strings.Split(comments, "\n") {
		if value, ok := strings.CutPrefix(line, "+"+name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func resolve(pkg string, imports map[string]string, expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.StarExpr:
		return resolve(pkg, imports, expression.X)
	case *ast.Ident:
		return pkg + "." + expression.Name
	case *ast.SelectorExpr:
		return imports[expression.X.(*ast.Ident).Name] + "." + expression.Sel.Name
	}
	return ""
}

func ensure(name string) {
	if _, ok := types[name]; !ok {
		load(name[:strings.LastIndex(name, ".")])
	}
}

func enum_of(pkg string, imports map[string]string, expression ast.Expr) []string {
	name := resolve(pkg, imports, expression)
	// What a webhook's configuration may say is checked in words of its own.
	if name == "" || special[name] != "" || pkg == "admissionregistration/v1" {
		return nil
	}
	found, ok := types[name]
	if !ok || !strings.Contains("\n"+found.comments, "\n+enum") {
		return nil
	}
	allowed := append([]string{}, values[name]...)
	sort.Strings(allowed)
	kept := []string{}
	for _, value := range allowed {
		if value != "" {
			kept = append(kept, value)
		}
	}
	return kept
}

func type_word(pkg string, imports map[string]string, expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.StarExpr:
		return type_word(pkg, imports, expression.X)
	case *ast.ArrayType:
		if ident, ok := expression.Elt.(*ast.Ident); ok && ident.Name == "byte" {
			return "bytes"
		}
		return "[" + type_word(pkg, imports, expression.Elt) + "]"
	case *ast.MapType:
		return "{" + type_word(pkg, imports, expression.Value) + "}"
	case *ast.Ident:
		switch expression.Name {
		case "string", "bool", "int32", "int64", "float64":
			return expression.Name
		case "int":
			return "int64"
		}
	}
	name := resolve(pkg, imports, expression)
	if word := special[name]; word != "" {
		return word
	}
	ensure(name)
	found, ok := types[name]
	if !ok {
		log.Fatalf("cannot resolve %s", name)
	}
	switch underlying := found.spec.Type.(type) {
	case *ast.StructType:
		want(name)
		return dotted(name)
	case *ast.ArrayType:
		if strings.Contains(found.comments, "+protobuf.nullable") {
			return "(" + type_word(name[:strings.LastIndex(name, ".")], found.imports, underlying.Elt) + ")"
		}
		return type_word(name[:strings.LastIndex(name, ".")], found.imports, underlying)
	default:
		return type_word(name[:strings.LastIndex(name, ".")], found.imports, underlying)
	}
}
