import type { Random } from "../../kernel/crypto/random.ts"
import { Fault } from "../../kernel/fault.ts"
import {
  aggregate,
  type Cx,
  type DecisionContext,
  type Event,
  type Receipt,
} from "../../store/index.ts"
import { invalidError, requireInteger } from "./validate.ts"

export const generatorTypes = [
  "init_code",
  "verify_email_code",
  "verify_phone_code",
  "password_reset_code",
  "passwordless_init_code",
  "app_secret",
  "otp_sms",
  "otp_email",
] as const

/** The purpose of a code or secret. */
export type GeneratorType = (typeof generatorTypes)[number]

/** Length, lifetime and characters of generated codes or secrets. */
export type Generator = {
  readonly length: number
  /** In seconds; 0 means no expiration. */
  readonly expiry: number
  readonly includeLowerLetters: boolean
  readonly includeUpperLetters: boolean
  readonly includeDigits: boolean
  readonly includeSymbols: boolean
}

const minuteSeconds = 60
const hourSeconds = 60 * minuteSeconds
const daySeconds = 24 * hourSeconds

/** Codes that users read and type. */
const typedCode: Generator = {
  length: 6,
  expiry: hourSeconds,
  includeLowerLetters: false,
  includeUpperLetters: true,
  includeDigits: true,
  includeSymbols: false,
}

const oneTimeCode: Generator = {
  ...typedCode,
  length: 8,
  expiry: 5 * minuteSeconds,
  includeUpperLetters: false,
}

/** Secrets that are copied or part of a link. */
const copiedSecret: Generator = { ...typedCode, length: 12, includeLowerLetters: true }

const defaultGenerators: Readonly<Record<GeneratorType, Generator>> = {
  init_code: { ...typedCode, expiry: 3 * daySeconds },
  verify_email_code: typedCode,
  verify_phone_code: typedCode,
  password_reset_code: typedCode,
  passwordless_init_code: copiedSecret,
  app_secret: { ...copiedSecret, length: 64, expiry: 0 },
  otp_sms: oneTimeCode,
  otp_email: oneTimeCode,
}

type GeneratorEvent =
  | Event<"instance.secret.generator.added", Generator & { readonly generatorType: GeneratorType }>
  | Event<
      "instance.secret.generator.changed",
      Partial<Generator> & { readonly generatorType: GeneratorType }
    >

type GeneratorState = { readonly generator?: Partial<Generator> }

/** The generator settings of an instance for one type; the stream ID is the type. */
export const generators = aggregate<GeneratorEvent, GeneratorState>({
  stream: "secret_generator",
  initial: {},
  evolve: {
    "instance.secret.generator.added": (_, { data: { generatorType: __, ...generator } }) => ({
      generator,
    }),
    "instance.secret.generator.changed": (state, { data: { generatorType: _, ...changed } }) => ({
      generator: { ...state.generator, ...changed },
    }),
  },
})

type GeneratorChange = { readonly type: GeneratorType; readonly changes: Partial<Generator> }

const updateGeneratorState = generators.command<GeneratorChange>((state, { type, changes }) => {
  const previous: Generator = { ...defaultGenerators[type], ...state.generator }
  const settings: Generator = { ...previous, ...changes }
  const changed = Object.entries(changes).filter(
    ([name, value]) => value !== Reflect.get(previous, name),
  )
  if (changed.length === 0) {
    throw new Fault(
      "failed_precondition",
      "policy.unchanged",
      "nothing to update: the secret generator already has these values",
    )
  }
  validateGenerator(type, settings)
  if (!state.generator) {
    return [{ type: "instance.secret.generator.added", data: { ...settings, generatorType: type } }]
  }
  const data = { ...Object.fromEntries(changed), generatorType: type }
  return [{ type: "instance.secret.generator.changed", data }]
})

/**
 * Updates the generator for new codes or secrets; existing ones and omitted values are unchanged.
 */
export const updateGenerator = (
  cx: Cx,
  type: GeneratorType,
  changes: Partial<Generator>,
): Promise<Receipt> => updateGeneratorState(cx, type, { type, changes })

/** In bits; codes have few attempts, secrets any number. */
const strengthMinBits = { code: 19, secret: 128 }
const expiryMaxSeconds = 30 * daySeconds

function validateGenerator(type: GeneratorType, settings: Generator): void {
  const isSecret = type === "app_secret"
  requireInteger("length", settings.length, { min: 1, max: 128 })
  const bounds = isSecret ? { min: 0, max: 0 } : { min: minuteSeconds, max: expiryMaxSeconds }
  requireInteger("expiry, in seconds,", settings.expiry, bounds)
  const alphabet = alphabetOf(settings)
  if (alphabet === "")
    throw invalidError("at least one of letters, digits and symbols must be included")
  if (strengthBits(settings) < strengthMinBits[isSecret ? "secret" : "code"]) {
    throw invalidError(
      "the generated values are too easy to guess; increase the length or include more kinds " +
        "of characters",
    )
  }
}

const strengthBits = (generator: Generator): number =>
  generator.length * Math.log2(alphabetOf(generator).length)

/** Strength of newly generated codes, in bits. */
export const codeStrengthBits = (
  { state }: Pick<DecisionContext, "state">,
  type: GeneratorType,
): number => strengthBits({ ...defaultGenerators[type], ...state(generators, type).generator })

/**
 * The characters to draw from, without ones that are easily confused, except among digits only. The
 * symbols need no encoding in URLs and configuration files.
 */
function alphabetOf(settings: Generator): string {
  const { includeLowerLetters, includeUpperLetters, includeDigits, includeSymbols } = settings
  const hasLetters = includeLowerLetters || includeUpperLetters
  return [
    includeLowerLetters ? "abcdefghjkmnpqrstuvwxyz" : "",
    includeUpperLetters ? "ABCDEFGHJKLMNPQRSTUVWXYZ" : "",
    includeDigits ? (hasLetters ? "23456789" : "0123456789") : "",
    includeSymbols ? "!*-.:=?@_~" : "",
  ].join("")
}

/** The effective generator of a type. */
export const generatorOf = (cx: Cx, type: GeneratorType): Generator => ({
  ...defaultGenerators[type],
  ...cx.store.state(cx, generators, type).generator,
})

/** Generates a code and returns its expiration, ms UTC. */
export function generateCode(
  cx: Cx,
  type: GeneratorType,
): { readonly plain: string; readonly expires: number } {
  const settings = generatorOf(cx, type)
  return { plain: drawText(cx.random, settings), expires: cx.clock.now() + settings.expiry * 1000 }
}

/** Generates a client secret. */
export const generateClientSecret = (cx: Cx): string =>
  drawText(cx.random, generatorOf(cx, "app_secret"))

/** Draws characters with equal probability; bytes that would cause a bias are skipped. */
function drawText(random: Random, settings: Generator): string {
  const alphabet = alphabetOf(settings)
  const fair = Math.floor(256 / alphabet.length) * alphabet.length
  let text = ""
  while (text.length < settings.length) {
    for (const byte of random.bytes(settings.length)) {
      if (byte < fair && text.length < settings.length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}
