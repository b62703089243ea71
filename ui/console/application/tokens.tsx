import { useState } from "react"
import type { OIDCTokenSettings } from "../../../src/gen/core/application/v2/application_pb.ts"
import { Check } from "../../kit/check.tsx"
import { Choice } from "../../kit/choice.tsx"
import { Disclosure } from "../../kit/disclosure.tsx"
import { SelectField } from "../../kit/select.tsx"
import { type Amount, amountOf, durationOf, durationText } from "../duration.ts"
import { DurationField } from "../duration-field.tsx"
import { ActionForm, EditSection, useSaving } from "../form.tsx"
import { useHouse } from "../house.ts"
import { algorithms, type LifetimeName, lifetimeNames } from "../token-settings.ts"
import { changeOidc, type OidcPart } from "./change.ts"
import { type TokenName, tokenNames, tokenOf, tokenTypes } from "./protocol.ts"

/** What the application's tokens look like and how long they last. */
export function Tokens(part: OidcPart) {
  const { t } = useHouse()
  return (
    <EditSection
      title={t("tokens_of.title")}
      facts={<Facts {...part} />}
      form={(close) => <TokenForm {...part} close={close} />}
    />
  )
}

/** Only what this application says itself; everything else is its instance's. */
function Facts({ oidc }: OidcPart) {
  const { t, language } = useHouse()
  const { tokenSettings } = oidc
  const skew = amountOf(oidc.clockSkew).count === "0" ? undefined : oidc.clockSkew
  const asserted = assertions.filter((name) => oidc[name])
  return (
    <dl className="facts">
      <dt>{t("tokens_of.type")}</dt>
      <dd>{t(`token_type.${tokenOf(oidc)}`)}</dd>
      {lifetimeNames.map((name) => {
        const lifetime = tokenSettings?.[name]
        return (
          lifetime && (
            <Fact
              key={name}
              label={t(`lifetime.${name}`)}
              text={durationText(language, lifetime)}
            />
          )
        )
      })}
      {signers.map((name) => {
        const algorithm = tokenSettings?.[name]
        return algorithm && <Fact key={name} label={t(`signer.${name}`)} text={algorithm} />
      })}
      {skew && <Fact label={t("tokens_of.skew")} text={durationText(language, skew)} />}
      {asserted.map((name) => (
        <Fact key={name} label={t(`assertion.${name}`)} text={t("detail.on")} />
      ))}
    </dl>
  )
}

function Fact({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{text}</dd>
    </>
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

type FormProps = OidcPart & { readonly close: () => void }

function TokenForm({ close, ...part }: FormProps) {
  const { t, core } = useHouse()
  const [draft, setDraft] = useState(draftOf(part))
  const change = (fields: Partial<Draft>) => setDraft({ ...draft, ...fields })
  const save = () => {
    const clockSkew = durationOf(draft.skew)
    return changeOidc(core, part, {
      accessTokenType: tokenTypes[draft.type],
      tokenSettings: settingsOf(draft),
      ...(clockSkew && { clockSkew }),
      ...draft.asserted,
    })
  }
  const action = useSaving(save, part.onChanged, close)
  return (
    <ActionForm action={action} onCancel={close}>
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
    </ActionForm>
  )
}

type FieldsProps = { readonly draft: Draft; readonly change: (fields: Partial<Draft>) => void }

function Asserted({ draft, change }: FieldsProps) {
  const { t } = useHouse()
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
  const { t } = useHouse()
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
  const { t } = useHouse()
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
