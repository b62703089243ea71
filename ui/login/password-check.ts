/** Which rules a password meets, by their names in the list; the same as the server's. */
const tests: Readonly<Record<string, (plain: string, minLength: number) => boolean>> = {
  length: (plain, minLength) => [...plain].length >= minLength,
  lowercase: (plain) => /\p{Ll}/u.test(plain),
  uppercase: (plain) => /\p{Lu}/u.test(plain),
  number: (plain) => /\p{Nd}/u.test(plain),
  symbol: (plain) => /[^\p{L}\p{N}]/u.test(plain),
}

/**
 * Marks the rules that the password beside them meets, with every key. A form whose password
 * doesn't meet all of them isn't sent: the browser names the first that is missing, and what was
 * typed stays.
 */
export function wirePasswordRules(list: Element): void {
  const input = list.closest(".field")?.querySelector("input")
  if (!(list instanceof HTMLElement) || !input) return
  const minLength = Number(list.dataset.passwordRules)
  const rules = [...list.querySelectorAll<HTMLElement>("[data-rule]")]
  const check = () => {
    const unmet = rules.filter((rule) => {
      const isMet = tests[rule.dataset.rule ?? ""]?.(input.value, minLength) ?? true
      rule.toggleAttribute("data-met", isMet)
      return !isMet
    })
    input.setCustomValidity(input.value === "" ? "" : (unmet[0]?.textContent ?? ""))
  }
  input.addEventListener("input", check)
  // Password managers fill it in before the page is ready.
  check()
}
