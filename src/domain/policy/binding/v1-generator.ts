import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import type { UpdateSecretGeneratorRequest } from "../../../gen/core/admin/v1/secret_generator_pb.ts"
import { SecretGeneratorType } from "../../../gen/core/settings/v1/settings_pb.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, details, filterMissingError, meaning } from "../../../protocol/api/answer.ts"
import { selected } from "../../../protocol/api/mask.ts"
import { type Cx, windowOf } from "../../../store/index.ts"
import {
  changeGenerator,
  type Generator,
  type GeneratorType,
  generatorOf,
  generators,
  generatorTypes,
} from "../generator.ts"

export const admin = share<Cx>()(AdminService, {
  listSecretGenerators: ({ query, queries }, cx) => {
    const wanted = queries.map(({ query: { case: of, value } }) => {
      if (of === "typeQuery") return typeOf(value.generatorType)
      throw filterMissingError()
    })
    const fitting = generatorTypes.filter((type) => wanted.every((each) => each === type))
    const rows = fitting.map((type) => ({ type, number: numbers[type] }))
    const found = windowOf(cx, rows, {
      page: pageOf(query),
      requested: ["secret_generators", wanted],
      by: ({ number }) => [number],
    })
    return {
      details: {
        totalResult: BigInt(found.total),
        processedSequence: BigInt(cx.store.log.durable()),
        viewTimestamp: at(cx.clock.now()),
      },
      result: found.rows.map(({ type }) => shown(cx, type)),
    }
  },
  getSecretGenerator: ({ generatorType }, cx) => ({
    secretGenerator: shown(cx, typeOf(generatorType)),
  }),
  updateSecretGenerator: async (req, cx) => {
    const receipt = await changeGenerator(cx, typeOf(req.generatorType), changeOf(req))
    return { details: details({ ...receipt, owner: cx.instance }) }
  },
})

const changeOf = (req: UpdateSecretGeneratorRequest): Partial<Generator> =>
  selected(req, {
    length: req.length,
    expiry: req.expiry ? durationMs(req.expiry) / 1000 : 0,
    includeLowerLetters: req.includeLowerLetters,
    includeUpperLetters: req.includeUpperLetters,
    includeDigits: req.includeDigits,
    includeSymbols: req.includeSymbols,
  })

function shown(cx: Cx, type: GeneratorType) {
  const { expiry, ...rest } = generatorOf(cx, type)
  const receipt = cx.store.receipt(cx, generators, type)
  return {
    ...rest,
    generatorType: numbers[type],
    expiry: durationFromMs(expiry * 1000),
    ...(receipt && { details: details({ ...receipt, owner: cx.instance }) }),
  }
}

const numbers: Readonly<Record<GeneratorType, SecretGeneratorType>> = {
  init_code: SecretGeneratorType.INIT_CODE,
  verify_email_code: SecretGeneratorType.VERIFY_EMAIL_CODE,
  verify_phone_code: SecretGeneratorType.VERIFY_PHONE_CODE,
  password_reset_code: SecretGeneratorType.PASSWORD_RESET_CODE,
  passwordless_init_code: SecretGeneratorType.PASSWORDLESS_INIT_CODE,
  app_secret: SecretGeneratorType.APP_SECRET,
  otp_sms: SecretGeneratorType.OTP_SMS,
  otp_email: SecretGeneratorType.OTP_EMAIL,
}

const types: Readonly<Record<number, GeneratorType>> = Object.fromEntries(
  generatorTypes.map((type) => [numbers[type], type]),
)

const typeOf = (number: SecretGeneratorType): GeneratorType => meaning(types, number)
