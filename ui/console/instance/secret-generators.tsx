import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  type SecretGenerator,
  SecretGeneratorType,
} from "../../../src/gen/core/settings/v1/settings_pb.ts"
import {
  type Amount,
  amountFromDuration,
  DialogButton,
  defineForm,
  durationFromAmount,
  formatDuration,
} from "../form/index.ts"
import { HistoryButton, streamResource } from "../list/index.ts"
import { call, Facts, ignoreError, language, Section, t, useReadIfAllowed } from "../shell/index.ts"

const { listSecretGenerators, updateSecretGenerator } = AdminService.method

/** Generators in use, in the order of display. */
const generatorKinds = [
  { type: SecretGeneratorType.INIT_CODE, name: "invite", stream: "init_code" },
  { type: SecretGeneratorType.VERIFY_EMAIL_CODE, name: "email", stream: "verify_email_code" },
  { type: SecretGeneratorType.VERIFY_PHONE_CODE, name: "phone", stream: "verify_phone_code" },
  { type: SecretGeneratorType.APP_SECRET, name: "secret", stream: "app_secret" },
] as const

type GeneratorKind = (typeof generatorKinds)[number]

const characterFields = [
  "includeLowerLetters",
  "includeUpperLetters",
  "includeDigits",
  "includeSymbols",
] as const

/** Format of generated codes and secrets, and the lifetime of codes. */
export function SecretGenerators() {
  const describe = useDescription()
  const found = useReadIfAllowed(listSecretGenerators)
  if (!found) return null
  const rows = generatorKinds.flatMap((kind) => {
    const generator = found.result.find(({ generatorType }) => generatorType === kind.type)
    return generator ? [{ kind, generator }] : []
  })
  return (
    <Section title={t("generators.title")}>
      <p className="quiet section-lead">{t("generators.lead")}</p>
      <Facts
        rows={rows.map(({ kind, generator }) => [
          t(`generators.${kind.name}`),
          <>
            {describe(generator)}
            <HistoryButton
              of={streamResource("secret_generator", kind.stream)}
              name={t(`generators.${kind.name}`)}
            />
            <DialogButton
              small
              needs={updateSecretGenerator}
              label={t("action.edit")}
              family={`generators-${kind.name}`}
              name={t(`generators.${kind.name}`)}
              form={generatorForm(kind, generator)}
            />
          </>,
        ])}
      />
    </Section>
  )
}

function useDescription(): (generator: SecretGenerator) => string {
  const list = new Intl.ListFormat(language)
  return (generator) => {
    const { length, expiry } = generator
    const created = characterFields
      .filter((name) => generator[name])
      .map((name) => t(`generators.${name}`))
    const values = { length, of: list.format(created) }
    if (!expiry?.seconds) return t("generators.made_of", values)
    return t("generators.made_of_for", { ...values, time: formatDuration(expiry) })
  }
}

type GeneratorValues = {
  readonly length: string
  readonly expiry: Amount
  readonly of: readonly (typeof characterFields)[number][]
}

const generatorForm = ({ type }: GeneratorKind, generator: SecretGenerator) =>
  defineForm<GeneratorValues, void>({
    initial: {
      length: String(generator.length),
      expiry: amountFromDuration(generator.expiry),
      of: characterFields.filter((name) => generator[name]),
    },
    save: (draft) => saveGenerator(generator, draft),
    disabled: ({ of }) => of.length === 0,
    fields: ({ text, checks, duration }) => [
      text("length", t("generators.length"), {
        type: "number",
        inputMode: "numeric",
        min: 1,
        max: 128,
        required: true,
      }),
      checks("of", t("generators.of"), {
        of: characterFields,
        label: (one) => t(`generators.${one}`),
      }),
      type !== SecretGeneratorType.APP_SECRET && duration("expiry", t("generators.expiry")),
    ],
  })

async function saveGenerator(
  { generatorType }: SecretGenerator,
  draft: GeneratorValues,
): Promise<void> {
  const expiry = durationFromAmount(draft.expiry)
  const included = Object.fromEntries(
    characterFields.map((name) => [name, draft.of.includes(name)]),
  )
  const request = { generatorType, length: Number(draft.length), ...(expiry && { expiry }) }
  await ignoreError("policy.unchanged", call(updateSecretGenerator, { ...request, ...included }))
}
