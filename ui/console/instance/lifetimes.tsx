import { useState } from "react"
import { Disclosure } from "../../kit/disclosure.tsx"
import { SelectField } from "../../kit/select.tsx"
import { type Amount, amountOf, durationOf, durationText } from "../duration.ts"
import { DurationField } from "../duration-field.tsx"
import { ActionForm, EditSection, useSaving } from "../form.tsx"
import { useHouse } from "../house.ts"
import { algorithms, type LifetimeName, lifetimeNames } from "../token-settings.ts"
import { changeOidcSettings, type OidcSettingsChange, type OidcSettingsPart } from "./oidc.ts"

/** How long tokens last and what signs them, where an application says nothing else. */
export function Lifetimes(part: OidcSettingsPart) {
  const { t } = useHouse()
  return (
    <EditSection
      title={t("tokens_of.title")}
      facts={<Facts {...part} />}
      form={(close) => <LifetimeForm {...part} close={close} />}
    />
  )
}

function Facts({ settings }: OidcSettingsPart) {
  const { t, language } = useHouse()
  return (
    <dl className="facts">
      {lifetimeNames.map((name) => (
        <Fact
          key={name}
          label={t(`lifetime.${name}`)}
          text={settings[name] ? durationText(language, settings[name]) : ""}
        />
      ))}
      <Fact label={t("signer.idTokenSigningAlgorithm")} text={settings.idTokenSigningAlgorithm} />
      <Fact
        label={t("signer.accessTokenSigningAlgorithm")}
        text={settings.accessTokenSigningAlgorithm}
      />
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

type Draft = {
  readonly lifetimes: Readonly<Record<LifetimeName, Amount>>
  readonly idToken: string
  readonly accessToken: string
}

function changeOf({ lifetimes, idToken, accessToken }: Draft): OidcSettingsChange {
  const change: OidcSettingsChange = {
    idTokenSigningAlgorithm: idToken,
    accessTokenSigningAlgorithm: accessToken,
  }
  for (const name of lifetimeNames) {
    const lifetime = durationOf(lifetimes[name])
    if (lifetime) change[name] = lifetime
  }
  return change
}

function LifetimeForm({ close, ...part }: OidcSettingsPart & { readonly close: () => void }) {
  const { t, core } = useHouse()
  const { settings } = part
  const [draft, setDraft] = useState<Draft>({
    lifetimes: {
      accessTokenLifetime: amountOf(settings.accessTokenLifetime),
      idTokenLifetime: amountOf(settings.idTokenLifetime),
      refreshTokenIdleExpiration: amountOf(settings.refreshTokenIdleExpiration),
      refreshTokenExpiration: amountOf(settings.refreshTokenExpiration),
      refreshTokenGrace: amountOf(settings.refreshTokenGrace),
    },
    idToken: settings.idTokenSigningAlgorithm,
    accessToken: settings.accessTokenSigningAlgorithm,
  })
  const change = (fields: Partial<Draft>) => setDraft({ ...draft, ...fields })
  const save = () => changeOidcSettings(core, part, changeOf(draft))
  const action = useSaving(save, part.onChanged, close)
  return (
    <ActionForm action={action} onCancel={close}>
      <div className="pair pair-two">
        {lifetimeNames.map((name) => (
          <DurationField
            key={name}
            label={t(`lifetime.${name}`)}
            value={draft.lifetimes[name]}
            onChange={(amount) => change({ lifetimes: { ...draft.lifetimes, [name]: amount } })}
          />
        ))}
      </div>
      <Disclosure summary={t("settings.signatures")}>
        <p className="quiet small">{t("settings.signatures_hint")}</p>
        <div className="pair pair-two">
          <SelectField
            label={t("signer.idTokenSigningAlgorithm")}
            options={algorithms.map((value) => ({ value, label: value }))}
            value={knownOf(draft.idToken)}
            onChange={(idToken) => change({ idToken })}
          />
          <SelectField
            label={t("signer.accessTokenSigningAlgorithm")}
            options={algorithms.map((value) => ({ value, label: value }))}
            value={knownOf(draft.accessToken)}
            onChange={(accessToken) => change({ accessToken })}
          />
        </div>
      </Disclosure>
    </ActionForm>
  )
}

const knownOf = (said: string) => algorithms.find((algorithm) => algorithm === said) ?? "RS256"
