import { Fault } from "../../kernel/fault.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import { type Cx, cached } from "../../store/index.ts"
import { instance, setDefaultLanguage as setInstanceLanguage } from "../instance/index.ts"
import { type Restrictions, restrictions } from "./model.ts"

/** Sets what the pages leave out; what is not given stays. Refuses what changes nothing. */
export const setRestrictions = restrictions.command<Partial<Restrictions>>((state, given) => {
  if (Object.keys(given).length === 0) {
    const wanted = "disallow_public_org_registration, allowed_languages, or both"
    throw invalidError("restrictions.empty", `say what to restrict: ${wanted}`)
  }
  for (const language of given.allowedLanguages ?? []) checkLanguage(language)
  if (JSON.stringify({ ...state, ...given }) !== JSON.stringify(state)) {
    return [{ type: "restrictions.set", data: given }]
  }
  throw unchangedError()
})

function checkLanguage(language: string): void {
  if (pageLanguages.includes(language)) return
  const spoken = pageLanguages.join(", ")
  throw invalidError("restrictions.language_unknown", `a language must be one of these: ${spoken}`)
}

const unchangedError = () =>
  new Fault("failed_precondition", "restrictions.unchanged", "no changes: it is so already")

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)

export const restrictionsOf = cached(
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

/** Sets which of the allowed languages is for everybody else. Refuses what changes nothing. */
export async function setDefaultLanguage(cx: Cx, language: string): Promise<void> {
  checkLanguage(language)
  const allowed = languagesOf(cx)
  if (!allowed.includes(language)) {
    const message = `the restrictions allow only ${allowed.join(", ")}; allow it there first`
    throw new Fault("failed_precondition", "restrictions.language_not_allowed", message)
  }
  if (cx.store.state(cx, instance, cx.instance).defaultLanguage === language) throw unchangedError()
  await setInstanceLanguage(cx, cx.instance, language)
}

/** Which of a reader's languages the instance allows, best first, and then its own. */
export function allowedOf(cx: Cx, wanted: readonly string[]): readonly string[] {
  const allowed = languagesOf(cx)
  const base = (tag: string) => tag.toLowerCase().split("-")[0] ?? ""
  return [...wanted.filter((tag) => allowed.includes(base(tag))), ...allowed.slice(0, 1)]
}
