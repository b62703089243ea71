import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  type SecretGenerator,
  SecretGeneratorType,
} from "../../../src/gen/core/settings/v1/settings_pb.ts"
import { Button } from "../../kit/button.tsx"
import { Checks } from "../../kit/check.tsx"
import { TextField } from "../../kit/field.tsx"
import { type Amount, amountOf, durationOf, durationText } from "../form/duration.ts"
import { DurationField } from "../form/duration-field.tsx"
import { DialogForm } from "../form/form.tsx"
import { formId, useOpen } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import { call, useReadIfAllowed } from "../shell/call.ts"
import { Facts, Section } from "../shell/detail.tsx"
import { useMay } from "../shell/permission.ts"
import { unless } from "../shell/refusal.ts"
import { useText } from "../shell/text.ts"

const { listSecretGenerators, updateSecretGenerator } = AdminService.method

/** Those that something is made by, in the order in which they are shown. */
const kinds = [
  { type: SecretGeneratorType.INIT_CODE, name: "invite" },
  { type: SecretGeneratorType.VERIFY_EMAIL_CODE, name: "email" },
  { type: SecretGeneratorType.VERIFY_PHONE_CODE, name: "phone" },
  { type: SecretGeneratorType.APP_SECRET, name: "secret" },
] as const

type Kind = (typeof kinds)[number]

const alphabets = [
  "includeLowerLetters",
  "includeUpperLetters",
  "includeDigits",
  "includeSymbols",
] as const

/** What codes and secrets are made of, and how long codes are good for. */
export function Generators() {
  const { t } = useText()
  const may = useMay()
  const words = useWords()
  const found = useReadIfAllowed(listSecretGenerators)
  const [open, setOpen] = useOpen("generators")
  if (!found) return null
  const rows = kinds.flatMap((kind) => {
    const generator = found.result.find(({ generatorType }) => generatorType === kind.type)
    return generator ? [{ kind, generator }] : []
  })
  const opened = rows.find(({ kind }) => kind.name === open)
  return (
    <Section title={t("generators.title")}>
      <p className="quiet section-lead">{t("generators.lead")}</p>
      <Facts
        rows={rows.map(({ kind, generator }) => [
          t(`generators.${kind.name}`),
          <>
            {words(generator)}
            {may(updateSecretGenerator) && (
              <Button
                small
                kind="plain"
                aria-label={`${t("action.edit")}: ${t(`generators.${kind.name}`)}`}
                onClick={() => setOpen(kind.name)}
              >
                {t("action.edit")}
              </Button>
            )}
          </>,
        ])}
      />
      {opened && <GeneratorForm {...opened} close={() => setOpen(undefined)} />}
    </Section>
  )
}

function useWords(): (generator: SecretGenerator) => string {
  const { t, language } = useText()
  const list = new Intl.ListFormat(language)
  return (generator) => {
    const { length, expiry } = generator
    const made = alphabets.filter((name) => generator[name]).map((name) => t(`generators.${name}`))
    const values = { length, of: list.format(made) }
    if (!expiry?.seconds) return t("generators.made_of", values)
    return t("generators.made_of_for", { ...values, time: durationText(language, expiry) })
  }
}

type Draft = {
  readonly length: string
  readonly expiry: Amount
  readonly of: readonly (typeof alphabets)[number][]
}

type FormProps = {
  readonly kind: Kind
  readonly generator: SecretGenerator
  readonly close: () => void
}

function GeneratorForm({ kind, generator, close }: FormProps) {
  const { t } = useText()
  const form = useForm<Draft>({
    id: formId("generators", kind.name),
    initial: {
      length: String(generator.length),
      expiry: amountOf(generator.expiry),
      of: alphabets.filter((name) => generator[name]),
    },
    save: (draft) => saveGenerator(generator, draft),
    done: close,
  })
  const { values, change } = form
  return (
    <DialogForm
      title={t(`generators.${kind.name}`)}
      form={form}
      onCancel={close}
      disabled={values.of.length === 0}
    >
      <TextField
        label={t("generators.length")}
        {...form.text("length")}
        type="number"
        inputMode="numeric"
        min={1}
        max={128}
        required
        autoFocus
      />
      <Checks
        legend={t("generators.of")}
        options={alphabets.map((value) => ({ value, label: t(`generators.${value}`) }))}
        values={values.of}
        onChange={(of) => change({ of })}
      />
      {kind.type !== SecretGeneratorType.APP_SECRET && (
        <DurationField
          label={t("generators.expiry")}
          value={values.expiry}
          onChange={(expiry) => change({ expiry })}
        />
      )}
    </DialogForm>
  )
}

async function saveGenerator({ generatorType }: SecretGenerator, draft: Draft): Promise<void> {
  const expiry = durationOf(draft.expiry)
  const included = Object.fromEntries(alphabets.map((name) => [name, draft.of.includes(name)]))
  const wanted = { generatorType, length: Number(draft.length), ...(expiry && { expiry }) }
  await unless("policy.unchanged", call(updateSecretGenerator, { ...wanted, ...included }))
}
