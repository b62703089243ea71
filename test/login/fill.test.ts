// A page that is filled in must be what a rendering of it would be, byte for byte.
import { expect, test } from "vitest"
import { fillerOf, type Sheet } from "../../src/login/fill.ts"
import * as ui from "../../ui/login/index.ts"

const mark = "6b1f0c"
const texts = [
  "ada",
  "Åsa Öberg <asa@example.com>",
  `"><script>alert('x')</script>&amp;`,
  `${mark}-csrf- ${mark}-loginName-`,
  "$& $1 $' $`",
  "",
  " \u0000\ufdd0\ud800\u202e",
]
const shared = (language: string) => {
  const { t } = ui.translator([language])
  return { t, language, assets: { css: "/a.css", pageJs: "/a.js", icon: "/a.svg" } }
}
const counted = () => {
  const count = { renderings: 0 }
  const fill = fillerOf((page) => {
    count.renderings++
    return ui.renderPage(page)
  }, mark)
  return { fill, count }
}

type Words = {
  csrf: string
  changeHref: string
  displayName: string
  loginName: string
  initials: string
}
const sheetOf = (language: string, application: string, words: Words): Sheet<any, Words> => ({
  page: ui.PasswordPage,
  words,
  props: ({ csrf, changeHref, ...account }) => ({
    ...shared(language),
    form: { action: "/here", csrf, authRequest: csrf },
    changeHref,
    account,
    application: { name: application, learns: ["identity"] },
  }),
})
const plain = ({ page, props, words }: Sheet<any, Words>) => ui.renderPage(page(props(words)))

test("every word is put in as a rendering would, and taken for nothing else", () => {
  const { fill, count } = counted()
  for (const language of ["en", "de"]) {
    for (const displayName of texts) {
      for (const csrf of texts) {
        const names = { displayName, loginName: csrf.replace("alert", ""), initials: "Å<" }
        const sheet = sheetOf(language, "Wiki", { csrf, changeHref: `/?a=${csrf}&b`, ...names })
        expect(fill(sheet)).toBe(plain(sheet))
      }
    }
  }
  // Words that are empty, or the same as others, make another sheet; nothing else does.
  expect(count.renderings).toBeLessThan(20)
})

test("what is shown otherwise is rendered anew, and the newest of it are kept", () => {
  const { fill, count } = counted()
  const names = { displayName: "Ada", loginName: "ada", initials: "A" }
  const words = { csrf: "c", changeHref: "/", ...names }
  for (let n = 0; n < 1000; n++) {
    const sheet = sheetOf("en", `Wiki ${n}`, words)
    expect(fill(sheet)).toContain(`Wiki ${n}`)
    fill(sheet)
  }
  expect(count.renderings).toBe(1000)
  const foreign = sheetOf("en", texts[2] ?? "", words)
  expect(fill(foreign)).toBe(plain(foreign))
})

test("two pages that show the same are two", () => {
  const { fill } = counted()
  const props = () => ({ ...shared("en"), form: { action: "/", csrf: "c" } })
  const named = fill({ page: ui.LoginNamePage, props, words: {} })
  const setup = { ...props(), account: { displayName: "ada", loginName: "ada" }, changeHref: "/" }
  expect(fill({ page: ui.PasswordPage, props: () => setup, words: {} })).not.toBe(named)
})
