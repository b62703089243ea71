import type { OIDCTokenSettings } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Disclosure, SelectField } from "../../kit/index.ts"
import {
  amountFromDuration,
  type Controls,
  defineForm,
  durationFromAmount,
  EditSection,
  formatDuration,
} from "../form/index.ts"
import {
  algorithms,
  jwtTypes,
  type LifetimeName,
  lifetimeNames,
  toAmounts,
  toDurations,
} from "../instance/token-settings.ts"
import { Facts, t } from "../shell/index.ts"
import { groupsClaims, groupsNames, groupsOf, tokenNames, tokenOf, tokenTypes } from "./protocol.ts"
import { type OidcPart, updateOidc } from "./update-application.ts"

/** Format and lifetime of the application's tokens. */
export function Tokens(part: OidcPart) {
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("tokens_of.title")}
      facts={<OwnSettings {...part} />}
      form={tokenForm(part)}
    />
  )
}

/** Settings of this application only; others come from the instance. */
function OwnSettings({ oidc }: OidcPart) {
  const { tokenSettings } = oidc
  const skew = amountFromDuration(oidc.clockSkew).count === "0" ? undefined : oidc.clockSkew
  const lasting = (name: LifetimeName) => {
    const lifetime = tokenSettings?.[name]
    return [t(`lifetime.${name}`), lifetime && formatDuration(lifetime)] as const
  }
  return (
    <Facts
      rows={[
        [t("tokens_of.type"), t(`token_type.${tokenOf(oidc)}`)],
        ...(tokenOf(oidc) === "jwt" ? jwtRows(tokenSettings) : []),
        [t("groups_claim.title"), t(`groups_claim.${groupsOf(oidc)}`)],
        ...lifetimeNames.map(lasting),
        [t("signer.idTokenSigningAlgorithm"), tokenSettings?.idTokenSigningAlgorithm],
        [t("tokens_of.skew"), skew && formatDuration(skew)],
        ...assertionFields.map(
          (name) => [t(`assertion.${name}`), oidc[name] && t("detail.on")] as const,
        ),
      ]}
    />
  )
}

/** Shown even with default values, because resource servers check them first. */
const jwtRows = (settings: OidcPart["oidc"]["tokenSettings"]) =>
  [
    [t("jwt_type.title"), settings?.accessTokenJwtType || "at+jwt"],
    [
      t("signer.accessTokenSigningAlgorithm"),
      settings?.accessTokenSigningAlgorithm || t("tokens_of.inherited"),
    ],
  ] as const

const assertionFields = [
  "accessTokenRoleAssertion",
  "idTokenRoleAssertion",
  "idTokenUserinfoAssertion",
  "idTokenProjectAudience",
  "idTokenClientId",
  "genericRolesClaim",
] as const

const signatureFields = ["idTokenSigningAlgorithm", "accessTokenSigningAlgorithm"] as const

const toFormValues = ({ oidc }: OidcPart) => ({
  type: tokenOf(oidc),
  ...toAmounts(oidc.tokenSettings),
  idTokenSigningAlgorithm: oidc.tokenSettings?.idTokenSigningAlgorithm ?? "",
  accessTokenSigningAlgorithm: oidc.tokenSettings?.accessTokenSigningAlgorithm ?? "",
  accessTokenJwtType: oidc.tokenSettings?.accessTokenJwtType || "at+jwt",
  skew: amountFromDuration(oidc.clockSkew),
  groupsClaim: groupsOf(oidc),
  accessTokenRoleAssertion: oidc.accessTokenRoleAssertion,
  idTokenRoleAssertion: oidc.idTokenRoleAssertion,
  idTokenUserinfoAssertion: oidc.idTokenUserinfoAssertion,
  idTokenProjectAudience: oidc.idTokenProjectAudience,
  idTokenClientId: oidc.idTokenClientId,
  genericRolesClaim: oidc.genericRolesClaim,
})

type TokenValues = ReturnType<typeof toFormValues>

const tokenForm = (part: OidcPart) =>
  defineForm({
    initial: toFormValues(part),
    save: ({ type, skew, groupsClaim, ...values }) => {
      const clockSkew = durationFromAmount(skew)
      // Empty values are omitted, so the instance's apply.
      const tokenSettings: Partial<Omit<OIDCTokenSettings, "$typeName">> = toDurations(values)
      for (const name of signatureFields)
        if (values[name] !== "") tokenSettings[name] = values[name]
      const { accessTokenJwtType } = values
      if (accessTokenJwtType !== "at+jwt") tokenSettings.accessTokenJwtType = accessTokenJwtType
      return updateOidc(part, {
        accessTokenType: tokenTypes[type],
        groupsClaim: groupsClaims[groupsClaim],
        tokenSettings,
        ...(clockSkew && { clockSkew }),
        ...Object.fromEntries(assertionFields.map((name) => [name, values[name]])),
      })
    },
    fields: (controls) => [
      controls.choice("type", t("tokens_of.type"), {
        of: tokenNames,
        label: (one) => t(`token_type.${one}`),
        hints: (one) => t(`token_type.${one}.hint`),
      }),
      controls.values.type === "jwt" && (
        <div key="jwt" className="pair pair-two">
          {jwtTypeField(controls)}
          {signatureField(controls, "accessTokenSigningAlgorithm", {
            hint: t("signer.accessTokenSigningAlgorithm.hint"),
          })}
        </div>
      ),
      controls.select("groupsClaim", t("groups_claim.title"), {
        of: groupsNames,
        label: (one) => t(`groups_claim.${one}`),
        hint: t("groups_claim.hint"),
      }),
      advancedFields(controls),
    ],
  })

const advancedFields = (controls: Controls<TokenValues>) => (
  <Disclosure key="advanced" summary={t("tokens_of.advanced")}>
    <div className="checks">
      {assertionFields.map((name) =>
        controls.check(name, t(`assertion.${name}`), t(`assertion.${name}.hint`)),
      )}
    </div>
    <p className="quiet small">{t("tokens_of.empty_hint")}</p>
    <div className="pair pair-two">
      {lifetimeNames.map((name) =>
        controls.duration(name, t(`lifetime.${name}`), { fallback: "–" }),
      )}
    </div>
    <div className="pair pair-two">{signatureField(controls, "idTokenSigningAlgorithm")}</div>
    {controls.duration("skew", t("tokens_of.skew"), { hint: t("tokens_of.skew_hint") })}
  </Disclosure>
)

const jwtTypeField = ({ values, put, contested }: Controls<TokenValues>) =>
  contested(
    "accessTokenJwtType",
    t("jwt_type.title"),
    <SelectField
      label={t("jwt_type.title")}
      hint={t("jwt_type.hint")}
      options={jwtTypes.map((value) => ({ value, label: value }))}
      value={values.accessTokenJwtType}
      onChange={(jwtType) => put("accessTokenJwtType", jwtType)}
    />,
  )

function signatureField(
  { values, put, contested }: Controls<TokenValues>,
  name: (typeof signatureFields)[number],
  { hint }: { readonly hint?: string } = {},
) {
  const label = t(`signer.${name}`)
  const inherited = [{ value: "", label: t("tokens_of.inherited") }]
  const options = [...inherited, ...algorithms.map((value) => ({ value, label: value }))]
  return contested(
    name,
    label,
    <SelectField
      label={label}
      options={options}
      value={values[name]}
      {...(hint && { hint })}
      onChange={(algorithm) => put(name, algorithm)}
    />,
    (algorithm) => String(algorithm) || t("tokens_of.inherited"),
  )
}
