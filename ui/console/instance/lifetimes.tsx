import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Disclosure } from "../../kit/disclosure.tsx"
import { SelectField } from "../../kit/select.tsx"
import { type Amount, amountOf, durationOf, durationText } from "../form/duration.ts"
import { DurationField } from "../form/duration-field.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import { changeOidcSettings, type OidcSettingsChange, type OidcSettingsPart } from "./oidc.ts"
import { algorithms, type LifetimeName, lifetimeNames } from "./token-settings.ts"

const { updateOIDCSettings } = AdminService.method

/** How long tokens last and what signs them, where an application says nothing else. */
export function Lifetimes({ settings }: OidcSettingsPart) {
  const { t, language } = useText()
  const lasting = (name: LifetimeName) => {
    const lifetime = settings[name]
    return [t(`lifetime.${name}`), lifetime && durationText(language, lifetime)] as const
  }
  return (
    <EditSection
      needs={updateOIDCSettings}
      title={t("tokens_of.title")}
      facts={
        <Facts
          rows={[
            ...lifetimeNames.map(lasting),
            [t("signer.idTokenSigningAlgorithm"), settings.idTokenSigningAlgorithm],
            [t("signer.accessTokenSigningAlgorithm"), settings.accessTokenSigningAlgorithm],
          ]}
        />
      }
      form={(id, close) => <LifetimeForm {...{ settings, id, close }} />}
    />
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

type FormProps = OidcSettingsPart & { readonly id: string; readonly close: () => void }

function LifetimeForm({ settings, id, close }: FormProps) {
  const { t } = useText()
  const form = useForm<Draft>({
    id,
    initial: {
      lifetimes: {
        accessTokenLifetime: amountOf(settings.accessTokenLifetime),
        idTokenLifetime: amountOf(settings.idTokenLifetime),
        refreshTokenIdleExpiration: amountOf(settings.refreshTokenIdleExpiration),
        refreshTokenExpiration: amountOf(settings.refreshTokenExpiration),
        refreshTokenGrace: amountOf(settings.refreshTokenGrace),
      },
      idToken: settings.idTokenSigningAlgorithm,
      accessToken: settings.accessTokenSigningAlgorithm,
    },
    save: (values) => changeOidcSettings(settings, changeOf(values)),
    done: close,
  })
  const { values: draft, change } = form
  return (
    <Fields form={form} onCancel={close}>
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
    </Fields>
  )
}

const knownOf = (said: string) => algorithms.find((algorithm) => algorithm === said) ?? "RS256"
