import type { OIDCTokenSettings } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Check } from "../../kit/check.tsx"
import { Choice } from "../../kit/choice.tsx"
import { Disclosure } from "../../kit/disclosure.tsx"
import { SelectField } from "../../kit/select.tsx"
import { type Amount, amountOf, durationOf, durationText } from "../form/duration.ts"
import { DurationField } from "../form/duration-field.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { algorithms, type LifetimeName, lifetimeNames } from "../instance/token-settings.ts"
import { Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import { changeOidc, type OidcForm, type OidcPart } from "./change.ts"
import { type TokenName, tokenNames, tokenOf, tokenTypes } from "./protocol.ts"

/** What the application's tokens look like and how long they last. */
export function Tokens(part: OidcPart) {
  const { t } = useText()
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("tokens_of.title")}
      facts={<Own {...part} />}
      form={(id, close) => <TokenForm {...part} {...{ id, close }} />}
    />
  )
}

/** Only what this application says itself; everything else is its instance's. */
function Own({ oidc }: OidcPart) {
  const { t, language } = useText()
  const { tokenSettings } = oidc
  const skew = amountOf(oidc.clockSkew).count === "0" ? undefined : oidc.clockSkew
  const lasting = (name: LifetimeName) => {
    const lifetime = tokenSettings?.[name]
    return [t(`lifetime.${name}`), lifetime && durationText(language, lifetime)] as const
  }
  return (
    <Facts
      rows={[
        [t("tokens_of.type"), t(`token_type.${tokenOf(oidc)}`)],
        ...lifetimeNames.map(lasting),
        ...signers.map((name) => [t(`signer.${name}`), tokenSettings?.[name]] as const),
        [t("tokens_of.skew"), skew && durationText(language, skew)],
        ...assertions.map(
          (name) => [t(`assertion.${name}`), oidc[name] && t("detail.on")] as const,
        ),
      ]}
    />
  )
}

const assertions = [
  "accessTokenRoleAssertion",
  "idTokenRoleAssertion",
  "idTokenUserinfoAssertion",
] as const
type Assertion = (typeof assertions)[number]

const signers = ["idTokenSigningAlgorithm", "accessTokenSigningAlgorithm"] as const
type Signer = (typeof signers)[number]

type Draft = {
  readonly type: TokenName
  readonly lifetimes: Readonly<Record<LifetimeName, Amount>>
  readonly signers: Readonly<Record<Signer, string>>
  readonly skew: Amount
  readonly asserted: Readonly<Record<Assertion, boolean>>
}

function draftOf({ oidc }: OidcPart): Draft {
  const { tokenSettings: said } = oidc
  return {
    type: tokenOf(oidc),
    lifetimes: {
      accessTokenLifetime: amountOf(said?.accessTokenLifetime),
      idTokenLifetime: amountOf(said?.idTokenLifetime),
      refreshTokenIdleExpiration: amountOf(said?.refreshTokenIdleExpiration, "days"),
      refreshTokenExpiration: amountOf(said?.refreshTokenExpiration, "days"),
      refreshTokenGrace: amountOf(said?.refreshTokenGrace, "seconds"),
    },
    signers: {
      idTokenSigningAlgorithm: said?.idTokenSigningAlgorithm ?? "",
      accessTokenSigningAlgorithm: said?.accessTokenSigningAlgorithm ?? "",
    },
    skew: amountOf(oidc.clockSkew),
    asserted: {
      accessTokenRoleAssertion: oidc.accessTokenRoleAssertion,
      idTokenRoleAssertion: oidc.idTokenRoleAssertion,
      idTokenUserinfoAssertion: oidc.idTokenUserinfoAssertion,
    },
  }
}

/** What is left empty is left out, and so the instance's. */
function settingsOf({ lifetimes, signers: chosen }: Draft) {
  const settings: Partial<Omit<OIDCTokenSettings, "$typeName">> = {}
  for (const name of lifetimeNames) {
    const lifetime = durationOf(lifetimes[name])
    if (lifetime) settings[name] = lifetime
  }
  for (const name of signers) if (chosen[name] !== "") settings[name] = chosen[name]
  return settings
}

function TokenForm({ id, close, ...part }: OidcForm) {
  const { t } = useText()
  const form = useForm<Draft>({
    id,
    initial: draftOf(part),
    save: (values) => {
      const clockSkew = durationOf(values.skew)
      return changeOidc(part, {
        accessTokenType: tokenTypes[values.type],
        tokenSettings: settingsOf(values),
        ...(clockSkew && { clockSkew }),
        ...values.asserted,
      })
    },
    done: close,
  })
  const { values: draft, change } = form
  return (
    <Fields form={form} onCancel={close}>
      <Choice
        legend={t("tokens_of.type")}
        name="token-type"
        options={tokenNames.map((value) => ({
          value,
          label: t(`token_type.${value}`),
          hint: t(`token_type.${value}.hint`),
        }))}
        value={draft.type}
        onChange={(type) => change({ type })}
      />
      <Disclosure summary={t("tokens_of.advanced")}>
        <Asserted draft={draft} change={change} />
        <Lifetimes draft={draft} change={change} />
        <Signers draft={draft} change={change} />
        <DurationField
          label={t("tokens_of.skew")}
          hint={t("tokens_of.skew_hint")}
          value={draft.skew}
          onChange={(skew) => change({ skew })}
        />
      </Disclosure>
    </Fields>
  )
}

type FieldsProps = { readonly draft: Draft; readonly change: (fields: Partial<Draft>) => void }

function Asserted({ draft, change }: FieldsProps) {
  const { t } = useText()
  return (
    <div className="checks">
      {assertions.map((name) => (
        <Check
          key={name}
          label={t(`assertion.${name}`)}
          hint={t(`assertion.${name}.hint`)}
          checked={draft.asserted[name]}
          onChange={(on) => change({ asserted: { ...draft.asserted, [name]: on } })}
        />
      ))}
    </div>
  )
}

function Lifetimes({ draft, change }: FieldsProps) {
  const { t } = useText()
  return (
    <>
      <p className="quiet small">{t("tokens_of.empty_hint")}</p>
      <div className="pair pair-two">
        {lifetimeNames.map((name) => (
          <DurationField
            key={name}
            label={t(`lifetime.${name}`)}
            fallback="–"
            value={draft.lifetimes[name]}
            onChange={(amount) => change({ lifetimes: { ...draft.lifetimes, [name]: amount } })}
          />
        ))}
      </div>
    </>
  )
}

function Signers({ draft, change }: FieldsProps) {
  const { t } = useText()
  const options = ["", ...algorithms].map((value) => ({
    value,
    label: value || t("tokens_of.inherited"),
  }))
  return (
    <div className="pair pair-two">
      {signers.map((name) => (
        <SelectField
          key={name}
          label={t(`signer.${name}`)}
          options={options}
          value={draft.signers[name]}
          onChange={(algorithm) => change({ signers: { ...draft.signers, [name]: algorithm } })}
        />
      ))}
    </div>
  )
}
