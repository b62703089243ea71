// Injects each of these faults into a parser, and the fuzzer must find it; without the fault, the
// same inputs must produce no findings.
import { expect, test } from "vitest"
import { fuzz } from "./engine/fuzz.ts"
import type { FuzzTarget } from "./engine/target.ts"
import { form } from "./target/form.ts"
import { acceptLanguage, forwardAuthPath, redirectUri } from "./target/header.ts"
import { dpopProof } from "./target/jwt.ts"
import { webauthnAssertion } from "./target/webauthn.ts"

type InjectedFault = {
  readonly fault: string
  readonly target: FuzzTarget
  readonly faulty: FuzzTarget
  readonly reason: RegExp
}

const injectedFaults: readonly InjectedFault[] = [
  {
    fault: "Accept-Language: a weight without a number throws a TypeError",
    target: acceptLanguage,
    faulty: acceptLanguage.withParser((parse) => (input, context) => {
      if (/;q=(,|$)/.test(input.toString())) throw new TypeError("undefined is not an object")
      return parse(input, context)
    }),
    reason: /the parser threw: TypeError/,
  },
  {
    fault: "DPoP proof: the last byte of the signature is not compared",
    target: dpopProof,
    faulty: dpopProof.withParser((parse) => (input, context) => {
      const begin = input.toString().slice(0, -1)
      const same = context.valid.find((token) => token.slice(0, -1) === begin)
      return parse(same ? Buffer.from(same) : input, context)
    }),
    reason: /only a token that was made is accepted/,
  },
  {
    fault: "redirect URI: an address that begins with the registered one is accepted",
    target: redirectUri,
    faulty: redirectUri.withParser((parse) => async (input, context) => {
      const { uri, fits } = await parse(input, context)
      const [, ...others] = fits
      return { uri, fits: [uri.startsWith("https://app.example.com"), ...others] }
    }),
    reason: /exact addresses/,
  },
  {
    fault: "form: the last of a repeated parameter counts",
    target: form,
    faulty: form.withParser((parse) => (input, context) => {
      const last = new Map(new URLSearchParams(input.toString()))
      return parse(Buffer.from(String(new URLSearchParams([...last]))), context)
    }),
    reason: /a parameter that is repeated is rejected|the value is as it was sent/,
  },
  {
    fault: "WebAuthn: an assertion without a signature is accepted",
    target: webauthnAssertion,
    faulty: webauthnAssertion.withParser((parse) => (input, context) => {
      const { response } = Object(JSON.parse(input.toString()))
      if (response?.signature === "") return { signCount: 1, isUserVerified: true }
      return parse(input, context)
    }),
    reason: /only what was signed is proven/,
  },
  {
    fault: "forward authentication: a path is compared before it is decoded",
    target: forwardAuthPath,
    faulty: forwardAuthPath.withParser((parse) => async (input, context) => {
      const { target } = await parse(input, context)
      const isAdmin = target.startsWith("/admin")
      const rules = [{ prefix: "/", everybody: !isAdmin, roles: isAdmin ? ["/admin"] : [] }]
      return { target, rules }
    }),
    reason: /the rule of \/admin applies/,
  },
]

/** Enough runs for every fault. */
const runsMax = 6000
const seed = 4

test.each(injectedFaults.map((each) => [each.fault, each] as const))(
  "finds %s",
  async (_, each) => {
    const { target, faulty, reason } = each
    let reasons: readonly string[] = []
    const options = { seed, corpus: [] }
    const withFault = await runFuzzer(faulty, {
      ...options,
      isOver: (runs) => runs >= runsMax || reasons.some((result) => reason.test(result)),
      onFinding: (finding) => {
        reasons = [...reasons, finding.reason]
      },
    })
    expect(reasons).toContainEqual(expect.stringMatching(reason))
    const { findings } = await runFuzzer(target, {
      ...options,
      isOver: (runs) => runs >= withFault.runs,
    })
    expect(findings).toEqual([])
  },
)

async function runFuzzer(target: FuzzTarget, options: Parameters<typeof fuzz>[2]) {
  const open = await target.open()
  const result = await fuzz(target, open, options)
  await open.close()
  return result
}
