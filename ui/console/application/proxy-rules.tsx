import {
  type OIDCAccessRule,
  OIDCRemoteUser,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { SelectField } from "../../kit/index.ts"
import { EditSection, formOf } from "../form/index.ts"
import { Facts, t } from "../shell/index.ts"
import { proxiedHost } from "./proxy-snippets.ts"
import { changeOidc, type OidcPart } from "./update-application.ts"

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

/** What applies where no rule matches. */
const usual: Rule = { pathPrefix: "/", everybody: false, roleKeys: [], accessTokens: false }

function Rules(part: OidcPart) {
  const rules = rulesOf(part)
  const hasWhole = rules.some(({ pathPrefix }) => pathPrefix === "/")
  const shown = hasWhole ? rules : [...rules, usual]
  return (
    <Facts
      rows={[
        ...shown.map((rule) => [rule.pathPrefix, textOf(rule)] as const),
        [t("proxy.remote_user"), t(`proxy.remote.${remoteUserOf(part)}`)] as const,
        ...(rules.some(({ accessTokens }) => accessTokens)
          ? [[t("proxy.forwarded"), t(isForwarded(part) ? "policy.yes" : "policy.no")] as const]
          : []),
      ]}
    />
  )
}

const textOf = (rule: Rule): string =>
  rule.accessTokens ? t("proxy.tokens", { who: wordsOf(rule) }) : wordsOf(rule)

function wordsOf({ everybody, roleKeys }: Rule): string {
  if (everybody) return t("proxy.everybody")
  if (roleKeys.length > 0) return t("proxy.roles", { roles: roleKeys.join(", ") })
  return t("proxy.signed_in")
}

const ruleForm = (part: OidcPart) =>
  formOf({
    initial: {
      rules: rulesOf(part).map(lineOf).join("\n"),
      remoteUser: remoteUserOf(part),
      forwarded: isForwarded(part),
    },
    lists: { rules: { between: /\n/, join: "\n", keyOf: pathOf } },
    refusals: { rules: ["app.forward_auth_invalid"] },
    save: ({ rules, remoteUser, forwarded }) =>
      changeOidc(part, {
        forwardAuth: {
          rules: rules.split("\n").flatMap(ruleOf),
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
 * "/admin: admin, editor"; a star for everybody, nothing for whoever may sign in. "(tokens)" at the
 * end accepts access tokens.
 */
function lineOf({ pathPrefix, everybody, roleKeys, accessTokens }: Rule): string {
  const who = everybody ? "*" : roleKeys.join(", ")
  const line = who === "" ? pathPrefix : `${pathPrefix}: ${who}`
  return accessTokens ? `${line} (tokens)` : line
}

/** Two rules for one path contradict each other. */
const pathOf = (line: string): string => ruleOf(line)[0]?.pathPrefix ?? ""

/** A path may have a colon in it; the last one ends it, where a space follows. */
function ruleOf(line: string): readonly Rule[] {
  const rest = line.replace(/\s\(tokens\)\s*$/i, "")
  const [, path = "", who = ""] = /^\s*(\S.*?)(?::\s+(.*?)|:)?\s*$/.exec(rest) ?? []
  if (path === "") return []
  const keys = who.split(",").flatMap((key) => key.trim() || [])
  const everybody = keys.length === 1 && keys[0] === "*"
  const roleKeys = everybody ? [] : keys
  return [{ pathPrefix: path, everybody, roleKeys, accessTokens: rest !== line }]
}
