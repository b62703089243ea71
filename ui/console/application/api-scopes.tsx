import type { APIScope } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EditSection, formOf } from "../form/index.ts"
import { Facts, t } from "../shell/index.ts"
import { changeApi } from "./api.tsx"
import type { ApiPart } from "./update-application.ts"

/** What clients can request of an API beside the standard scopes, as users read it. */
export function ApiScopes({ application, api }: ApiPart) {
  const { scopes = [] } = api.scopes ?? {}
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("scopes.title")}
      facts={
        scopes.length > 0 ? (
          <Facts rows={scopes.map((one) => [one.scope, wordsOf(one)] as const)} />
        ) : (
          <p className="quiet section-lead">{t("scopes.none")}</p>
        )
      }
      form={formOf({
        initial: { scopes: scopes.map(lineOf).join("\n") },
        lists: { scopes: { between: /\n/, join: "\n", keyOf: (line) => scopeIn(line).scope } },
        refusals: { scopes: ["app.scopes_invalid"] },
        save: (values) => {
          const lines = values.scopes.split("\n").filter((line) => line.trim() !== "")
          const { authMethodType } = api
          const wanted = lines.map((line) => asBefore(scopes, line) ?? scopeIn(line))
          return changeApi(application, { authMethodType, scopes: { scopes: wanted } })
        },
        fields: ({ area }) =>
          area("scopes", t("scopes.lines"), {
            rows: 5,
            spellCheck: false,
            maxLength: 30_000,
            optional: true,
            hint: t("scopes.hint"),
          }),
      })}
    />
  )
}

type Scope = Pick<APIScope, "scope" | "name" | "description">

const wordsOf = ({ name, description }: Scope) => (
  <>
    {name || <span className="quiet">{t("scopes.no_name")}</span>}
    {description && <p className="quiet">{description}</p>}
  </>
)

/** `read:orders = Read orders | Also those of past years`. */
function lineOf({ scope, name, description }: Scope): string {
  const words = [name, description].filter((text, at) => at === 0 || text !== "").join(" | ")
  return words === "" ? scope : `${scope} = ${words}`
}

/** What is stored where its line is unchanged, also if its name contains the separator. */
const asBefore = (scopes: readonly Scope[], line: string): Scope | undefined =>
  scopes.find((one) => lineOf(one).trim() === line.trim())

/** What a line says; where that is no scope, the server says what is wrong. */
function scopeIn(line: string): Scope {
  const [, scope = line.trim(), words = ""] = /^\s*(\S+)(?:\s+=(?:\s+(.*))?)?\s*$/.exec(line) ?? []
  const [name = "", ...description] = words.split("|")
  return { scope, name: name.trim(), description: description.join("|").trim() }
}
