import { Fault } from "../../kernel/fault.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
import { instance, setDefaultLanguage as setInstanceLanguage } from "../instance/index.ts"
import { type Restrictions, restrictions } from "./model.ts"

/** Sets restrictions; omitted ones keep their values. Throws if nothing changes. */
export const setRestrictions = restrictions.command<Partial<Restrictions>>((state, input) => {
  if (Object.keys(input).length === 0) {
    const requested = "disallow_public_org_registration, allowed_languages, or both"
    throw invalidError("restrictions.empty", `at least one restriction is required: ${requested}`)
  }
  for (const language of input.allowedLanguages ?? []) validateLanguage(language)
  if (JSON.stringify({ ...state, ...input }) !== JSON.stringify(state)) {
    return [{ type: "restrictions.set", data: input }]
  }
  throw unchangedError()
})

function validateLanguage(language: string): void {
  if (pageLanguages.includes(language)) return
  const supported = pageLanguages.join(", ")
  throw invalidError(
    "restrictions.language_unknown",
    `allowed_languages must contain only: ${supported}`,
  )
}

const unchangedError = () =>
  new Fault(
    "failed_precondition",
    "restrictions.unchanged",
    "nothing to update: the restrictions already have these values",
  )

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)

export const restrictionsOf = cacheQuery(
  (cx) => cx.store.state(cx, restrictions, cx.instance),
  ["restrictions"],
)

/** The languages of the pages, the default language first. */
export function languagesOf(cx: Cx): readonly string[] {
  const { allowedLanguages } = restrictionsOf(cx)
  const allowed = allowedLanguages.length > 0 ? allowedLanguages : pageLanguages
  const { defaultLanguage } = cx.store.state(cx, instance, cx.instance)
  if (!allowed.includes(defaultLanguage)) return allowed
  return [defaultLanguage, ...allowed.filter((language) => language !== defaultLanguage)]
}

/** Sets the default language, which must be allowed. Throws if nothing changes. */
export async function setDefaultLanguage(cx: Cx, language: string): Promise<void> {
  validateLanguage(language)
  const allowed = languagesOf(cx)
  if (!allowed.includes(language)) {
    const message = `the restrictions allow only ${allowed.join(", ")}; allow the language first`
    throw new Fault("failed_precondition", "restrictions.language_not_allowed", message)
  }
  if (cx.store.state(cx, instance, cx.instance).defaultLanguage === language) throw unchangedError()
  await setInstanceLanguage(cx, cx.instance, language)
}

/** The allowed languages of a user in order of preference, followed by the default language. */
export function negotiateLanguages(cx: Cx, requested: readonly string[]): readonly string[] {
  const allowed = languagesOf(cx)
  const base = (tag: string) => tag.toLowerCase().split("-")[0] ?? ""
  return [...requested.filter((tag) => allowed.includes(base(tag))), ...allowed.slice(0, 1)]
}
