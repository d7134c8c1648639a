"""Amazon's Signature Version 4, as a server checks it."""
import hashlib
import hmac
import re
import urllib.parse


def is_signed(request, secret):
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=[^/]+/(\d{8})/([^/]+)/([^/]+)/aws4_request, *"
                         r"SignedHeaders=([^,]+), *Signature=([0-9a-f]{64})", request.headers.get("authorization", ""))
    if not found:
        return False
    day, region, service, names, signature = found.groups()
    names = names.split(";")
    demanded = {"host", "x-amz-date"} | {name for name in request.headers if name.startswith("x-amz-")}
    if names != sorted(names) or not demanded <= set(names):
        return False
    path, _, query = request.path.partition("?")
    canonical = "\n".join([
        request.method, urllib.parse.quote(path, safe="/~"), query,
        *(f"{name}:{' '.join(request.headers[name].split())}" for name in names), "",
        ";".join(names), hashlib.sha256(request.raw).hexdigest()])
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), signature)
