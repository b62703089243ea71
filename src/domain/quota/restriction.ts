import { Fault } from "../../kernel/fault.ts"
import { pageLanguages } from "../../kernel/language.ts"
import { type Cx, remembered } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { type Restrictions, restrictions } from "./model.ts"

/** Sets what the pages leave out; what is not given stays. Refuses what changes nothing. */
export const setRestrictions = restrictions.command<Partial<Restrictions>>((state, given) => {
  if (Object.keys(given).length === 0) {
    const wanted = "disallow_public_org_registration, allowed_languages, or both"
    throw invalid("restrictions.empty", `say what to restrict: ${wanted}`)
  }
  for (const language of given.allowedLanguages ?? []) checkLanguage(language)
  if (JSON.stringify({ ...state, ...given }) !== JSON.stringify(state)) {
    return [{ type: "restrictions.set", data: given }]
  }
  throw new Fault("failed_precondition", "restrictions.unchanged", "no changes: it is so already")
})

function checkLanguage(language: string): void {
  if (pageLanguages.includes(language)) return
  const spoken = pageLanguages.join(", ")
  throw invalid("restrictions.language_unknown", `allowed_languages may have these: ${spoken}`)
}

const invalid = (id: string, message: string) => new Fault("invalid_argument", id, message)

export const restrictionsOf = remembered(
  (cx) => cx.store.state(cx, restrictions, cx.instance),
  ["restrictions"],
)

/** The languages that pages may be shown in, the one for everybody else first. */
export function languagesOf(cx: Cx): readonly string[] {
  const { allowedLanguages } = restrictionsOf(cx)
  const allowed = allowedLanguages.length > 0 ? allowedLanguages : pageLanguages
  const { defaultLanguage } = cx.store.state(cx, instance, cx.instance)
  if (!allowed.includes(defaultLanguage)) return allowed
  return [defaultLanguage, ...allowed.filter((language) => language !== defaultLanguage)]
}

/** Which of a reader's languages the instance allows, best first, and then its own. */
export function allowedOf(cx: Cx, wanted: readonly string[]): readonly string[] {
  const allowed = languagesOf(cx)
  const base = (tag: string) => tag.toLowerCase().split("-")[0] ?? ""
  return [...wanted.filter((tag) => allowed.includes(base(tag))), ...allowed.slice(0, 1)]
}
