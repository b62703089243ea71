import type { Random } from "../../kernel/crypto/random.ts"
import { Fault } from "../../kernel/fault.ts"
import { aggregate, type Cx, type Decision, type Event, type Receipt } from "../../store/index.ts"
import { refusedError, wholeNumber } from "./bound.ts"

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

/** What a code or a secret is for. */
export type GeneratorType = (typeof generatorTypes)[number]

/** What codes or secrets of a kind are made of. */
export type Generator = {
  readonly length: number
  /** In seconds; 0: it is good until it is replaced. */
  readonly expiry: number
  readonly includeLowerLetters: boolean
  readonly includeUpperLetters: boolean
  readonly includeDigits: boolean
  readonly includeSymbols: boolean
}

const minute = 60
const hour = 60 * minute
const day = 24 * hour

/** What somebody reads and types. */
const typed: Generator = {
  length: 6,
  expiry: hour,
  includeLowerLetters: false,
  includeUpperLetters: true,
  includeDigits: true,
  includeSymbols: false,
}

const oneTime: Generator = { ...typed, length: 8, expiry: 5 * minute, includeUpperLetters: false }

/** What is copied, or stands in a link. */
const copied: Generator = { ...typed, length: 12, includeLowerLetters: true }

const standards: Readonly<Record<GeneratorType, Generator>> = {
  init_code: { ...typed, expiry: 3 * day },
  verify_email_code: typed,
  verify_phone_code: typed,
  password_reset_code: typed,
  passwordless_init_code: copied,
  app_secret: { ...copied, length: 64, expiry: 0 },
  otp_sms: oneTime,
  otp_email: oneTime,
}

type GeneratorEvent =
  | Event<"instance.secret.generator.added", Generator & { readonly generatorType: GeneratorType }>
  | Event<
      "instance.secret.generator.changed",
      Partial<Generator> & { readonly generatorType: GeneratorType }
    >

type Said = { readonly generator?: Partial<Generator> }

/** What an instance has said of one kind; the id is the kind. */
export const generators = aggregate<GeneratorEvent, Said>({
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

type Change = { readonly type: GeneratorType; readonly said: Partial<Generator> }

const change = generators.command<Change>((state, { type, said }) => {
  const had: Generator = { ...standards[type], ...state.generator }
  const wanted: Generator = { ...had, ...said }
  const changed = Object.entries(said).filter(([name, value]) => value !== Reflect.get(had, name))
  if (changed.length === 0) {
    throw new Fault("failed_precondition", "policy.unchanged", "no changes: it is so already")
  }
  check(type, wanted)
  if (!state.generator) {
    return [{ type: "instance.secret.generator.added", data: { ...wanted, generatorType: type } }]
  }
  const data = { ...Object.fromEntries(changed), generatorType: type }
  return [{ type: "instance.secret.generator.changed", data }]
})

/**
 * Changes what codes or secrets of a kind are made of from now on; those that are out stay, as does
 * what is left out.
 */
export const changeGenerator = (
  cx: Cx,
  type: GeneratorType,
  said: Partial<Generator>,
): Promise<Receipt> => change(cx, type, { type, said })

/** In bits; a code is tried few times before it is void, a secret as often as one likes. */
const strengthMin = { code: 19, secret: 128 }
const expiryMax = 30 * day

function check(type: GeneratorType, wanted: Generator): void {
  const isSecret = type === "app_secret"
  wholeNumber("length", wanted.length, { min: 1, max: 128 })
  const bounds = isSecret ? { min: 0, max: 0 } : { min: minute, max: expiryMax }
  wholeNumber("expiry, in seconds,", wanted.expiry, bounds)
  const alphabet = alphabetOf(wanted)
  if (alphabet === "")
    throw refusedError("include letters, digits or symbols: something it is made of")
  if (strengthOf(wanted) < strengthMin[isSecret ? "secret" : "code"]) {
    throw refusedError("this would be guessed too easily: make it longer, or include more in it")
  }
}

const strengthOf = (generator: Generator): number =>
  generator.length * Math.log2(alphabetOf(generator).length)

/** How strong codes of a kind are that are made now, in bits. */
export const codeStrength = ({ state }: Pick<Decision, "state">, type: GeneratorType): number =>
  strengthOf({ ...standards[type], ...state(generators, type).generator })

/**
 * What is read and typed has nothing that people take for something else, but among digits. Of the
 * symbols none is read in another way where clients and their settings encode nothing.
 */
function alphabetOf(wanted: Generator): string {
  const { includeLowerLetters, includeUpperLetters, includeDigits, includeSymbols } = wanted
  const hasLetters = includeLowerLetters || includeUpperLetters
  return [
    includeLowerLetters ? "abcdefghjkmnpqrstuvwxyz" : "",
    includeUpperLetters ? "ABCDEFGHJKLMNPQRSTUVWXYZ" : "",
    includeDigits ? (hasLetters ? "23456789" : "0123456789") : "",
    includeSymbols ? "!*-.:=?@_~" : "",
  ].join("")
}

/** What codes or secrets of a kind are made of. */
export const generatorOf = (cx: Cx, type: GeneratorType): Generator => ({
  ...standards[type],
  ...cx.store.state(cx, generators, type).generator,
})

/** Makes a code of a kind, and says until when it is good, in ms UTC. */
export function newCode(
  cx: Cx,
  type: GeneratorType,
): { readonly plain: string; readonly expires: number } {
  const wanted = generatorOf(cx, type)
  return { plain: draw(cx.random, wanted), expires: cx.clock.now() + wanted.expiry * 1000 }
}

/** Makes a secret that a client authenticates with. */
export const newClientSecret = (cx: Cx): string => draw(cx.random, generatorOf(cx, "app_secret"))

/** Draws each character as likely as any other: bytes that would favour some are left out. */
function draw(random: Random, wanted: Generator): string {
  const alphabet = alphabetOf(wanted)
  const fair = Math.floor(256 / alphabet.length) * alphabet.length
  let text = ""
  while (text.length < wanted.length) {
    for (const byte of random.bytes(wanted.length)) {
      if (byte < fair && text.length < wanted.length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}
