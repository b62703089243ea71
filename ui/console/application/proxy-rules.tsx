import {
  type OIDCAccessRule,
  OIDCRemoteUser,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { SelectField } from "../../kit/index.ts"
import { defineForm, EditSection } from "../form/index.ts"
import { Facts, t } from "../shell/index.ts"
import { findProxiedHost } from "./proxy-snippets.ts"
import { type OidcPart, updateOidc } from "./update-application.ts"

/** Access rules for a proxy that checks each request with this server. */
export function ProxyRules(part: OidcPart) {
  const host = findProxiedHost(part.oidc.redirectUris)?.host
  if (host === undefined) return null
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("proxy.title")}
      facts={
        <>
          <p className="quiet section-lead">{t("proxy.lead", { host })}</p>
          <RuleList {...part} />
        </>
      }
      form={ruleForm(part)}
    />
  )
}

type Rule = Pick<OIDCAccessRule, "pathPrefix" | "everybody" | "roleKeys" | "accessTokens">

const rulesOf = ({ oidc }: OidcPart): readonly Rule[] => oidc.forwardAuth?.rules ?? []

const remoteUsers = {
  login_name: OIDCRemoteUser.OIDC_REMOTE_USER_LOGIN_NAME,
  user_id: OIDCRemoteUser.OIDC_REMOTE_USER_USER_ID,
  email: OIDCRemoteUser.OIDC_REMOTE_USER_EMAIL,
} as const
type RemoteUser = keyof typeof remoteUsers
const remoteUserNames: readonly RemoteUser[] = ["login_name", "user_id", "email"]

const remoteUserOf = ({ oidc }: OidcPart): RemoteUser =>
  remoteUserNames.find((name) => remoteUsers[name] === oidc.forwardAuth?.remoteUser) ?? "login_name"

const isForwarded = ({ oidc }: OidcPart): boolean => oidc.forwardAuth?.tokenForwarded ?? false

/** The rule if no other matches. */
const defaultRule: Rule = { pathPrefix: "/", everybody: false, roleKeys: [], accessTokens: false }

function RuleList(part: OidcPart) {
  const rules = rulesOf(part)
  const hasWhole = rules.some(({ pathPrefix }) => pathPrefix === "/")
  const shown = hasWhole ? rules : [...rules, defaultRule]
  return (
    <Facts
      rows={[
        ...shown.map((rule) => [rule.pathPrefix, ruleText(rule)] as const),
        [t("proxy.remote_user"), t(`proxy.remote.${remoteUserOf(part)}`)] as const,
        ...(rules.some(({ accessTokens }) => accessTokens)
          ? [[t("proxy.forwarded"), t(isForwarded(part) ? "policy.yes" : "policy.no")] as const]
          : []),
      ]}
    />
  )
}

const ruleText = (rule: Rule): string =>
  rule.accessTokens ? t("proxy.tokens", { who: describeAudience(rule) }) : describeAudience(rule)

function describeAudience({ everybody, roleKeys }: Rule): string {
  if (everybody) return t("proxy.everybody")
  if (roleKeys.length > 0) return t("proxy.roles", { roles: roleKeys.join(", ") })
  return t("proxy.signed_in")
}

const ruleForm = (part: OidcPart) =>
  defineForm({
    initial: {
      rules: rulesOf(part).map(formatRule).join("\n"),
      remoteUser: remoteUserOf(part),
      forwarded: isForwarded(part),
    },
    lists: { rules: { separator: /\n/, join: "\n", keyOf: pathOfLine } },
    refusals: { rules: ["app.forward_auth_invalid"] },
    save: ({ rules, remoteUser, forwarded }) =>
      updateOidc(part, {
        forwardAuth: {
          rules: rules.split("\n").flatMap(parseRule),
          remoteUser: remoteUsers[remoteUser],
          tokenForwarded: forwarded,
        },
      }),
    fields: ({ area, check, values, change, contested }) => [
      contested(
        "remoteUser",
        t("proxy.remote_user"),
        <SelectField<RemoteUser>
          key="remoteUser"
          label={t("proxy.remote_user")}
          hint={t("proxy.remote_user_hint")}
          options={remoteUserNames.map((value) => ({ value, label: t(`proxy.remote.${value}`) }))}
          value={values.remoteUser}
          onChange={(remoteUser) => change({ remoteUser })}
        />,
      ),
      area("rules", t("proxy.rules"), {
        rows: 4,
        spellCheck: false,
        optional: true,
        maxLength: 20_000,
        hint: t("proxy.hint"),
      }),
      check("forwarded", t("proxy.forwarded"), t("proxy.forwarded_hint")),
    ],
  })

/**
 * The line format of a rule, such as "/admin: admin, editor". "*" means everyone, nothing means all
 * users with access; a trailing "(tokens)" also accepts access tokens.
 */
function formatRule({ pathPrefix, everybody, roleKeys, accessTokens }: Rule): string {
  const audience = everybody ? "*" : roleKeys.join(", ")
  const line = audience === "" ? pathPrefix : `${pathPrefix}: ${audience}`
  return accessTokens ? `${line} (tokens)` : line
}

/** Used as key, because two rules for one path conflict. */
const pathOfLine = (line: string): string => parseRule(line)[0]?.pathPrefix ?? ""

/** A path can contain colons; it ends at the last one that is followed by a space. */
function parseRule(line: string): readonly Rule[] {
  const rest = line.replace(/\s\(tokens\)\s*$/i, "")
  const [, path = "", audience = ""] = /^\s*(\S.*?)(?::\s+(.*?)|:)?\s*$/.exec(rest) ?? []
  if (path === "") return []
  const keys = audience.split(",").flatMap((key) => key.trim() || [])
  const everybody = keys.length === 1 && keys[0] === "*"
  const roleKeys = everybody ? [] : keys
  return [{ pathPrefix: path, everybody, roleKeys, accessTokens: rest !== line }]
}
