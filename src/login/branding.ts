import { createHash } from "node:crypto"
import { type Label, label, policyOf } from "../domain/policy/index.ts"
import { lazily } from "../kernel/lazy.ts"
import type { Cx } from "../store/index.ts"
import { loginPaths } from "./path.ts"

/** Only who has chosen colours needs it, and what makes them. */
const loadUi = lazily(() => import("../../ui/login/index.ts"))

/** Stands for the instance where an address names an organisation; ids of these have no dot. */
const ofInstance = "."

const isSaid = (values: Label): boolean =>
  Object.entries(label.standard).some(
    ([name, value]) => name !== "hideLoginNameSuffix" && Reflect.get(values, name) !== value,
  )

/**
 * Where the pages of an organisation, or of the instance, find the sheet that makes them look as
 * the policy says; undefined where nobody has said anything. It changes with what is said.
 */
export function sheetOf(cx: Cx, orgId: string | undefined): string | undefined {
  const values = policyOf(cx, orgId ?? "", label)
  if (!isSaid(values)) return undefined
  const place = orgId === undefined ? ofInstance : encodeURIComponent(orgId)
  return `${loginPaths.sheet}?of=${place}&is=${versionOf(values)}`
}

const versionOf = (values: Label): string =>
  createHash("sha256").update(JSON.stringify(values)).digest("base64url").slice(0, 12)

/** The sheet itself, to be kept for good under an address that names this version of it. */
export async function showSheet(cx: Cx, search: URLSearchParams): Promise<Response> {
  const place = search.get("of") ?? ofInstance
  const values = policyOf(cx, place === ofInstance ? "" : place, label)
  const isNamed = search.get("is") === versionOf(values)
  const { brandingSheet } = await loadUi()
  return new Response(brandingSheet(values), {
    headers: {
      "content-type": "text/css; charset=utf-8",
      "cache-control": isNamed ? "public, max-age=31536000, immutable" : "no-cache",
    },
  })
}
