import { afterEach, beforeEach, expect, test } from "vitest"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { createPasskeyLink } from "../../src/domain/factor/key/link.ts"
import { keysOf } from "../../src/domain/factor/ready.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { browserOf, issuer, openProvider, type Provider } from "../oauth/provider.ts"
import { createKey } from "../support/authenticator.ts"

let provider: Provider
let id: string
beforeEach(async () => {
  provider = await openProvider()
  id = await provider.addPerson("nina")
})
afterEach(() => provider.close())

test.each([["the ID of a link"], ["no ID of a link"]])(
  "a page with %s completes no registration that was started without it",
  async (input) => {
    const cx = provider.cx()
    const { codeId } = await createPasskeyLink(cx, id, { returned: true })
    const { tokenId, options } = await beginKey(cx, id, { kind: "passkey" })
    const { creation } = createKey(options, { origin: issuer })
    const browser = browserOf(provider)
    const page = await browser.go(`/ui/login/passkey/set?userId=${id}&codeId=${codeId}`)
    const fields = input === "no ID of a link" ? { codeId: "" } : {}
    const credential = JSON.stringify(creation)
    const end = await browser.post(page, { ...fields, tokenId, credential, code: "wrong" })
    expect(end.path).not.toContain("/ui/login/signedin")
    const keys = () => keysOf(provider.store.state(provider.cx(), user, id))
    expect(keys()).toEqual([])
    await finishKey(cx, id, { kind: "passkey", tokenId, credential: creation, name: "Key" })
    expect(keys()).toHaveLength(1)
  },
)
