import type { OIDCAccessRule } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EditSection, formOf } from "../form/index.ts"
import { Facts, t } from "../shell/index.ts"
import { changeOidc, type OidcPart } from "./change.ts"
import { proxiedHost } from "./proxy-snippets.ts"

/** Who is let through where a proxy asks about each request. */
export function ProxyRules(part: OidcPart) {
  const host = proxiedHost(part.oidc.redirectUris)?.host
  if (host === undefined) return null
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("proxy.title")}
      facts={
        <>
          <p className="quiet section-lead">{t("proxy.lead", { host })}</p>
          <Rules {...part} />
        </>
      }
      form={ruleForm(part)}
    />
  )
}

type Rule = Pick<OIDCAccessRule, "pathPrefix" | "everybody" | "roleKeys">

const rulesOf = ({ oidc }: OidcPart): readonly Rule[] => oidc.forwardAuth?.rules ?? []

function Rules(part: OidcPart) {
  const rules = rulesOf(part)
  const hasWhole = rules.some(({ pathPrefix }) => pathPrefix === "/")
  const shown = hasWhole ? rules : [...rules, { pathPrefix: "/", everybody: false, roleKeys: [] }]
  return (
    <Facts
      rows={shown.map((rule) => [
        rule.pathPrefix,
        rule.everybody
          ? t("proxy.everybody")
          : rule.roleKeys.length > 0
            ? t("proxy.roles", { roles: rule.roleKeys.join(", ") })
            : t("proxy.signed_in"),
      ])}
    />
  )
}

const ruleForm = (part: OidcPart) =>
  formOf({
    initial: { rules: rulesOf(part).map(lineOf).join("\n") },
    refusals: { rules: ["app.forward_auth_invalid"] },
    save: ({ rules }) =>
      changeOidc(part, { forwardAuth: { rules: rules.split("\n").flatMap(ruleOf) } }),
    fields: ({ area }) => [
      area("rules", t("proxy.rules"), {
        ...{ rows: 4, spellCheck: false, optional: true, maxLength: 20_000 },
        hint: t("proxy.hint"),
      }),
    ],
  })

/** "/admin: admin, editor"; a star for everybody, nothing for whoever may sign in. */
function lineOf({ pathPrefix, everybody, roleKeys }: Rule): string {
  const who = everybody ? "*" : roleKeys.join(", ")
  return who === "" ? pathPrefix : `${pathPrefix}: ${who}`
}

/** A path may have a colon in it; the last one ends it, where a space follows. */
function ruleOf(line: string): readonly Rule[] {
  const [, path = "", who = ""] = /^\s*(\S.*?)(?::\s+(.*?)|:)?\s*$/.exec(line) ?? []
  if (path === "") return []
  const keys = who.split(",").flatMap((key) => key.trim() || [])
  const everybody = keys.length === 1 && keys[0] === "*"
  return [{ pathPrefix: path, everybody, roleKeys: everybody ? [] : keys }]
}
