import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast"
import { API } from "typescript/unstable/async"
import { createVirtualFileSystem } from "typescript/unstable/fs"

/** A file with its syntax tree; rules use both and never access the disk. */
export type Source = { readonly path: string; readonly text: string; readonly tree: SourceFile }

/** A violation of a rule, with its location. */
export type Finding = { readonly path: string; readonly line: number; readonly message: string }

export type Rule = (source: Source) => readonly Finding[]

/** Parses texts by path, relative to the root of the checkout. */
export async function parse(texts: ReadonlyMap<string, string>): Promise<readonly Source[]> {
  const files = Object.fromEntries([...texts].map(([path, text]) => [`/${path}`, text]))
  const compilerOptions = {
    noLib: true,
    noResolve: true,
    types: [],
    allowJs: true,
    jsx: "preserve",
  }
  const config = JSON.stringify({ compilerOptions, files: Object.keys(files) })
  const api = new API({
    cwd: "/",
    fs: createVirtualFileSystem({ ...files, "/tsconfig.json": config }),
  })
  try {
    const snapshot = await api.updateSnapshot({ openProject: "/tsconfig.json" })
    const program = snapshot.getProjects()[0]?.program
    const parsed = [...texts].map(async ([path, text]) => {
      const tree = await program?.getSourceFile(`/${path}`)
      if (!tree) throw new Error(`${path} was not parsed`)
      return { path, text, tree }
    })
    return await Promise.all(parsed)
  } finally {
    await api.close()
  }
}

/** The texts of all files in some directories whose paths pass, by path relative to the root. */
export function textsBelow(
  root: string,
  folders: readonly string[],
  passes: (path: string) => boolean,
): ReadonlyMap<string, string> {
  const below = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return below(path)
      return passes(path) ? [path] : []
    })
  const paths = folders.flatMap(below).sort()
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]))
}

/** Every node of a file, parents before children. */
export function nodesOf(source: Source): readonly Node[] {
  const found: Node[] = []
  const walk = (node: Node) => {
    found.push(node)
    node.forEachChild(walk)
  }
  source.tree.forEachChild(walk)
  return found
}

export const findingAt = (source: Source, node: Node, message: string): Finding => ({
  path: source.path,
  line: lineOf(source, node.getStart()),
  message,
})

/** Starts at 1, as in editors. */
export const lineOf = (source: Source, position: number): number =>
  source.tree.getLineAndCharacterOfPosition(position).line + 1

/** Functions of every form that have a body. */
export const isFunction = (node: Node): boolean => functionKinds.has(node.kind)

const functionKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
])

/** The same text, of the same length, with spaces for literals, which are never nested. */
export function blankLiterals(source: Source): string {
  const { text } = source
  let [code, end] = ["", 0]
  for (const node of nodesOf(source)) {
    if (!literals.has(node.kind)) continue
    const start = node.getStart()
    code += text.slice(end, start) + text.slice(start, node.end).replace(/[^\n]/g, " ")
    end = node.end
  }
  return code + text.slice(end)
}

const literals: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.JsxText,
])
