import { expect, test } from "vitest"
import { parseBrowserName } from "../../src/protocol/browser-name.ts"

const webkit = "AppleWebKit/537.36 (KHTML, like Gecko)"
const mac = "(Macintosh; Intel Mac OS X 10_15_7)"
const phone = "(iPhone; CPU iPhone OS 18_5 like Mac OS X)"
const chrome = `${webkit} Chrome/140.0.0.0`

test.each([
  ["(Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox", "Windows"],
  [`(X11; Linux x86_64) ${chrome} Safari/537.36`, "Chrome", "Linux"],
  [`(X11; CrOS x86_64 14541.0.0) ${chrome} Safari/537.36`, "Chrome", "ChromeOS"],
  [`(Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36 Edg/140.0`, "Edge", "Windows"],
  [`${mac} ${chrome} Safari/537.36 OPR/121.0`, "Opera", "macOS"],
  [`${mac} ${webkit} Version/18.5 Safari/605.1.15`, "Safari", "macOS"],
  [`${phone} ${webkit} Version/18.5 Mobile/15E148 Safari/604.1`, "Safari", "iPhone"],
  [`(iPad; CPU OS 18_5 like Mac OS X) ${webkit} CriOS/138.0 Safari/604.1`, "Chrome", "iPad"],
  [
    `(Linux; Android 10; K) ${webkit} SamsungBrowser/28.0 Chrome/130.0`,
    "Samsung Internet",
    "Android",
  ],
])("Mozilla/5.0 %s", (values, browser, system) => {
  expect(parseBrowserName(`Mozilla/5.0 ${values}`)).toEqual({ browser, system })
})

test("an unknown user agent has no name", () => {
  expect(parseBrowserName("")).toEqual({})
  expect(parseBrowserName("curl/8.14.1")).toEqual({ browser: "curl" })
  expect(parseBrowserName("x".repeat(300))).toEqual({})
  expect(parseBrowserName(`${"Version/".repeat(100)} Safari/605.1.15`)).toEqual({})
})
