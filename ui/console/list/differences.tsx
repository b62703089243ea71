import type { Value } from "@bufbuild/protobuf/wkt"
import type { Difference } from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { has, t } from "../shell/index.ts"

/** Fields before and after. Colour alone says nothing to many: what went is struck through. */
export function Differences({ rows }: { readonly rows: readonly Difference[] }) {
  if (rows.length === 0) return null
  return (
    <ul className="value-list small">
      {rows.map(({ path, words, before, after }) => (
        <li key={path.join(".")}>
          <Named path={path} words={words} />
          {": "}
          {before && <del className="quiet">{textOf(before)}</del>}
          {before && after && " → "}
          {after && (before ? <ins>{textOf(after)}</ins> : textOf(after))}
        </li>
      ))}
    </ul>
  )
}

type NamedProps = { readonly path: readonly string[]; readonly words: string }

/** In the reader's language where the catalogue knows the field, else in the server's words. */
function Named({ path, words }: NamedProps) {
  const key = `changed.${path.at(-1)}`
  if (!has(key)) return <span lang="en">{words}</span>
  const named = path.map((part) => {
    const each = `changed.${part}`
    return has(each) ? t(each) : part
  })
  return <span>{named.join(" › ")}</span>
}

/** A value as people read it. */
function textOf({ kind }: Value): string {
  if (kind.case === "boolValue") return t(kind.value ? "policy.yes" : "policy.no")
  if (kind.case === "listValue") {
    return kind.value.values.map((each) => textOf(each)).join(", ")
  }
  if (kind.case === "structValue") {
    return Object.entries(kind.value.fields)
      .map(([key, each]) => `${key}: ${textOf(each)}`)
      .join(", ")
  }
  return kind.case === "nullValue" ? "" : String(kind.value ?? "")
}
