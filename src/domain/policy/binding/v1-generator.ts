import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import type { UpdateSecretGeneratorRequest } from "../../../gen/core/admin/v1/secret_generator_pb.ts"
import { SecretGeneratorType } from "../../../gen/core/settings/v1/settings_pb.ts"
import { parsePage } from "../../../kernel/page.ts"
import { selectMasked } from "../../../protocol/api/mask.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../../protocol/api/response.ts"
import { type Cx, paginate } from "../../../store/index.ts"
import {
  type Generator,
  type GeneratorType,
  generatorOf,
  generators,
  generatorTypes,
  updateGenerator,
} from "../generator.ts"

export const admin = bindHandlers<Cx>()(AdminService, {
  listSecretGenerators: ({ query, queries }, cx) => {
    const requested = queries.map(({ query: { case: of, value } }) => {
      if (of === "typeQuery") return parseType(value.generatorType)
      throw filterMissingError()
    })
    const fitting = generatorTypes.filter((type) => requested.every((each) => each === type))
    const rows = fitting.map((type) => ({ type, number: typeNumbers[type] }))
    const found = paginate(cx, rows, {
      page: parsePage(query),
      requested: ["secret_generators", requested],
      by: ({ number }) => [number],
    })
    return {
      details: {
        totalResult: BigInt(found.total),
        processedSequence: BigInt(cx.store.log.durable()),
        viewTimestamp: toTimestamp(cx.clock.now()),
      },
      result: found.rows.map(({ type }) => toMessage(cx, type)),
    }
  },
  getSecretGenerator: ({ generatorType }, cx) => ({
    secretGenerator: toMessage(cx, parseType(generatorType)),
  }),
  updateSecretGenerator: async (req, cx) => {
    const receipt = await updateGenerator(cx, parseType(req.generatorType), generatorChange(req))
    return { details: toDetails({ ...receipt, owner: cx.instance }) }
  },
})

const generatorChange = (req: UpdateSecretGeneratorRequest): Partial<Generator> =>
  selectMasked(req, {
    length: req.length,
    expiry: req.expiry ? durationMs(req.expiry) / 1000 : 0,
    includeLowerLetters: req.includeLowerLetters,
    includeUpperLetters: req.includeUpperLetters,
    includeDigits: req.includeDigits,
    includeSymbols: req.includeSymbols,
  })

function toMessage(cx: Cx, type: GeneratorType) {
  const { expiry, ...rest } = generatorOf(cx, type)
  const receipt = cx.store.receipt(cx, generators, type)
  return {
    ...rest,
    generatorType: typeNumbers[type],
    expiry: durationFromMs(expiry * 1000),
    ...(receipt && { details: toDetails({ ...receipt, owner: cx.instance }) }),
  }
}

const typeNumbers: Readonly<Record<GeneratorType, SecretGeneratorType>> = {
  init_code: SecretGeneratorType.INIT_CODE,
  verify_email_code: SecretGeneratorType.VERIFY_EMAIL_CODE,
  verify_phone_code: SecretGeneratorType.VERIFY_PHONE_CODE,
  password_reset_code: SecretGeneratorType.PASSWORD_RESET_CODE,
  passwordless_init_code: SecretGeneratorType.PASSWORDLESS_INIT_CODE,
  app_secret: SecretGeneratorType.APP_SECRET,
  otp_sms: SecretGeneratorType.OTP_SMS,
  otp_email: SecretGeneratorType.OTP_EMAIL,
}

const generatorTypeByNumber: Readonly<Record<number, GeneratorType>> = Object.fromEntries(
  generatorTypes.map((type) => [typeNumbers[type], type]),
)

const parseType = (number: SecretGeneratorType): GeneratorType =>
  valueOfEnum(generatorTypeByNumber, number)
