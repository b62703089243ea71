import type { OIDCTokenSettings } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Disclosure, SelectField } from "../../kit/index.ts"
import {
  amountOf,
  type Controls,
  durationOf,
  durationText,
  EditSection,
  formOf,
} from "../form/index.ts"
import {
  algorithms,
  durationsOf,
  jwtTypes,
  type LifetimeName,
  lifetimeNames,
  lifetimesOf,
} from "../instance/token-settings.ts"
import { Facts, t } from "../shell/index.ts"
import { groupsClaims, groupsNames, groupsOf, tokenNames, tokenOf, tokenTypes } from "./protocol.ts"
import { changeOidc, type OidcPart } from "./update-application.ts"

/** What the application's tokens look like and how long they last. */
export function Tokens(part: OidcPart) {
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("tokens_of.title")}
      facts={<Own {...part} />}
      form={tokenForm(part)}
    />
  )
}

/** Only what this application says itself; everything else is its instance's. */
function Own({ oidc }: OidcPart) {
  const { tokenSettings } = oidc
  const skew = amountOf(oidc.clockSkew).count === "0" ? undefined : oidc.clockSkew
  const lasting = (name: LifetimeName) => {
    const lifetime = tokenSettings?.[name]
    return [t(`lifetime.${name}`), lifetime && durationText(lifetime)] as const
  }
  return (
    <Facts
      rows={[
        [t("tokens_of.type"), t(`token_type.${tokenOf(oidc)}`)],
        ...(tokenOf(oidc) === "jwt" ? jwtFacts(tokenSettings) : []),
        [t("groups_claim.title"), t(`groups_claim.${groupsOf(oidc)}`)],
        ...lifetimeNames.map(lasting),
        [t("signer.idTokenSigningAlgorithm"), tokenSettings?.idTokenSigningAlgorithm],
        [t("tokens_of.skew"), skew && durationText(skew)],
        ...assertions.map(
          (name) => [t(`assertion.${name}`), oidc[name] && t("detail.on")] as const,
        ),
      ]}
    />
  )
}

/** What resource servers check first, also where it is the default. */
const jwtFacts = (said: OidcPart["oidc"]["tokenSettings"]) =>
  [
    [t("jwt_type.title"), said?.accessTokenJwtType || "at+jwt"],
    [
      t("signer.accessTokenSigningAlgorithm"),
      said?.accessTokenSigningAlgorithm || t("tokens_of.inherited"),
    ],
  ] as const

const assertions = [
  "accessTokenRoleAssertion",
  "idTokenRoleAssertion",
  "idTokenUserinfoAssertion",
  "idTokenProjectAudience",
  "idTokenClientId",
  "genericRolesClaim",
] as const

const signers = ["idTokenSigningAlgorithm", "accessTokenSigningAlgorithm"] as const

const draftOf = ({ oidc }: OidcPart) => ({
  type: tokenOf(oidc),
  ...lifetimesOf(oidc.tokenSettings),
  idTokenSigningAlgorithm: oidc.tokenSettings?.idTokenSigningAlgorithm ?? "",
  accessTokenSigningAlgorithm: oidc.tokenSettings?.accessTokenSigningAlgorithm ?? "",
  accessTokenJwtType: oidc.tokenSettings?.accessTokenJwtType || "at+jwt",
  skew: amountOf(oidc.clockSkew),
  groupsClaim: groupsOf(oidc),
  accessTokenRoleAssertion: oidc.accessTokenRoleAssertion,
  idTokenRoleAssertion: oidc.idTokenRoleAssertion,
  idTokenUserinfoAssertion: oidc.idTokenUserinfoAssertion,
  idTokenProjectAudience: oidc.idTokenProjectAudience,
  idTokenClientId: oidc.idTokenClientId,
  genericRolesClaim: oidc.genericRolesClaim,
})

type Draft = ReturnType<typeof draftOf>

const tokenForm = (part: OidcPart) =>
  formOf({
    initial: draftOf(part),
    save: ({ type, skew, groupsClaim, ...values }) => {
      const clockSkew = durationOf(skew)
      // What is left empty is left out, and so the instance's.
      const tokenSettings: Partial<Omit<OIDCTokenSettings, "$typeName">> = durationsOf(values)
      for (const name of signers) if (values[name] !== "") tokenSettings[name] = values[name]
      const { accessTokenJwtType } = values
      if (accessTokenJwtType !== "at+jwt") tokenSettings.accessTokenJwtType = accessTokenJwtType
      return changeOidc(part, {
        accessTokenType: tokenTypes[type],
        groupsClaim: groupsClaims[groupsClaim],
        tokenSettings,
        ...(clockSkew && { clockSkew }),
        ...Object.fromEntries(assertions.map((name) => [name, values[name]])),
      })
    },
    fields: (controls) => [
      controls.choice("type", t("tokens_of.type"), {
        of: tokenNames,
        words: (one) => t(`token_type.${one}`),
        hints: (one) => t(`token_type.${one}.hint`),
      }),
      controls.values.type === "jwt" && (
        <div key="jwt" className="pair pair-two">
          {jwtTypeField(controls)}
          {signerField(controls, "accessTokenSigningAlgorithm", {
            hint: t("signer.accessTokenSigningAlgorithm.hint"),
          })}
        </div>
      ),
      controls.select("groupsClaim", t("groups_claim.title"), {
        of: groupsNames,
        words: (one) => t(`groups_claim.${one}`),
        hint: t("groups_claim.hint"),
      }),
      advancedFields(controls),
    ],
  })

const advancedFields = (controls: Controls<Draft>) => (
  <Disclosure key="advanced" summary={t("tokens_of.advanced")}>
    <div className="checks">
      {assertions.map((name) =>
        controls.check(name, t(`assertion.${name}`), t(`assertion.${name}.hint`)),
      )}
    </div>
    <p className="quiet small">{t("tokens_of.empty_hint")}</p>
    <div className="pair pair-two">
      {lifetimeNames.map((name) =>
        controls.duration(name, t(`lifetime.${name}`), { fallback: "–" }),
      )}
    </div>
    <div className="pair pair-two">{signerField(controls, "idTokenSigningAlgorithm")}</div>
    {controls.duration("skew", t("tokens_of.skew"), { hint: t("tokens_of.skew_hint") })}
  </Disclosure>
)

const jwtTypeField = ({ values, put, contested }: Controls<Draft>) =>
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

function signerField(
  { values, put, contested }: Controls<Draft>,
  name: (typeof signers)[number],
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
