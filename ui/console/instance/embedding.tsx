import type { SecuritySettings } from "../../../src/gen/core/settings/v2/security_settings_pb.ts"
import { SettingsService } from "../../../src/gen/core/settings/v2/settings_service_pb.ts"
import { Check } from "../../kit/check.tsx"
import { TextArea } from "../../kit/field.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { linesOf } from "../form/lines.ts"
import { useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"

const { setSecuritySettings } = SettingsService.method

type EmbeddingProps = { readonly security: SecuritySettings }

/** Whose sites may show the sign-in pages in a frame. */
export function Embedding({ security }: EmbeddingProps) {
  const { t } = useText()
  const { enabled = false, allowedOrigins = [] } = security.embeddedIframe ?? {}
  return (
    <EditSection
      needs={setSecuritySettings}
      title={t("embedding.title")}
      facts={
        <>
          <p className="quiet section-lead">{t(enabled ? "embedding.on" : "embedding.off")}</p>
          {enabled && (
            <ul className="value-list">
              {allowedOrigins.map((origin) => (
                <li key={origin}>
                  <code>{origin}</code>
                </li>
              ))}
            </ul>
          )}
        </>
      }
      form={(id, close) => <EmbeddingForm {...{ security, id, close }} />}
    />
  )
}

type FormProps = EmbeddingProps & { readonly id: string; readonly close: () => void }

function EmbeddingForm({ security, id, close }: FormProps) {
  const { t } = useText()
  const { embeddedIframe, enableImpersonation } = security
  const form = useForm({
    id,
    initial: {
      enabled: embeddedIframe?.enabled ?? false,
      origins: (embeddedIframe?.allowedOrigins ?? []).join("\n"),
    },
    save: ({ enabled, origins }) =>
      call(setSecuritySettings, {
        embeddedIframe: { enabled, allowedOrigins: linesOf(origins) },
        enableImpersonation,
      }),
    done: close,
  })
  const { values, change } = form
  return (
    <Fields form={form} onCancel={close}>
      <Check
        label={t("embedding.enabled")}
        hint={t("embedding.enabled_hint")}
        checked={values.enabled}
        onChange={(enabled) => change({ enabled })}
      />
      {values.enabled && (
        <TextArea
          label={t("embedding.origins")}
          hint={t("embedding.origins_hint")}
          {...form.text("origins")}
          maxLength={5000}
          rows={4}
          required
          spellCheck={false}
        />
      )}
    </Fields>
  )
}
